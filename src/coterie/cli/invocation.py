"""The command that was given, to be given once more."""

import shlex

import typer


def command_line(context: typer.Context) -> str:
    """The command with its arguments, as a shell would read it."""
    words = context.command_path.split()
    arguments, options = [], []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[parameter.name or ""]
        if parameter.param_type_name == "argument":
            arguments.append(str(value))
        elif isinstance(value, bool):
            options.append(parameter.opts[0])
        else:
            for each in value if isinstance(value, list | tuple) else [value]:
                options += [parameter.opts[0], str(each)]
    return shlex.join([*words, *arguments, *options])
