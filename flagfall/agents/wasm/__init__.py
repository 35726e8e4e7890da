"""Agents in WebAssembly: virtual machine, system interface, and the building of programs."""
