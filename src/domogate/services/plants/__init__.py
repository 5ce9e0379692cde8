"""Plants as applications use them: the read model, control, scenes, readings and injected faults."""
