"""A contract for import-linter: private modules are imported by their own room only."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """No room imports ``lacunet.ROOM._module`` of another room."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = sorted(
            (importer, imported)
            for importer in graph.modules
            for imported in graph.find_modules_directly_imported_by(importer)
            if is_private_elsewhere(importer, imported)
        )
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["found"]:
            output.print_error(f"{importer} imports {imported}.")
        output.print("Import what you need in the __init__.py of its room.")


def is_private_elsewhere(importer: str, imported: str) -> bool:
    """Return whether a module is private to a room that the importer is not in."""
    package, room, module, *_ = [*imported.split("."), "", ""]
    if package != "lacunet" or not module.startswith("_"):
        return False
    return importer.split(".")[:2] != [package, room]
