"""Help pages without the names of Python types: `FILE` and `yes|no` instead of `<str>` and `<bool>`."""

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

# The context is typer's own copy of click's class. It has no public name, so its type is Any.


class _Argument(TyperArgument):
    def get_usage_pieces(self, _ctx: Any) -> list[str]:
        name = self.display_name_raw if self.required else f"[{self.display_name_raw}]"
        return [f"{name}..." if self.nargs != 1 else name]

    def display_type_rich(self, ctx: Any) -> str | None:
        return _choices(self, ctx)


class _Option(TyperOption):
    def display_type_rich(self, ctx: Any) -> str | None:
        if self.is_flag:
            return None
        return self.metavar or _choices(self, ctx) or "VALUE"

    def _get_number_range_help_str(self) -> str | None:
        return None  # the text of the option already has the default


def _choices(parameter: _Argument | _Option, ctx: Any) -> str | None:
    return parameter.display_type(ctx).strip("<>") if parameter.type_descriptor.is_choice else None


def _without_type_names(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        parameter.__class__ = _Argument if isinstance(parameter, TyperArgument) else _Option
    return parameters


class PlainCommand(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_type_names(super().get_params(ctx))


class PlainGroup(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_type_names(super().get_params(ctx))
