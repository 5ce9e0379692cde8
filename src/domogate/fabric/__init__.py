"""Carries orders and questions to the process that drives the plant: this process, or another gateway of the cluster."""
