import pytest
from import_contract import is_private_elsewhere


@pytest.mark.parametrize(
    ("importer", "imported", "is_private"),
    [
        ("lacunet.nn._conv", "lacunet.functional._ops", True),
        ("lacunet.functional._diag", "lacunet.functional._ops", False),
        ("lacunet.functional", "lacunet.functional._ops", False),
        ("lacunet.nn._conv", "lacunet.functional", False),
        ("lacunet.nn._conv", "lacunet._text", False),
        ("lacunet", "lacunet.nn._conv", True),
        ("lacunet.nn._conv", "torch._dynamo", False),
    ],
)
def test_private_modules_are_those_of_other_rooms(importer, imported, is_private):
    assert is_private_elsewhere(importer, imported) == is_private
