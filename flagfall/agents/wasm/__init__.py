"""Agents in WebAssembly: their virtual machine, its system interface, and components built of Python agents."""
