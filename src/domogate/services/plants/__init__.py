"""Plants as applications use them: the read model, control, scenes, orders, readings, injected faults."""
