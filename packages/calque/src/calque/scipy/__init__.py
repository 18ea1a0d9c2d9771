"""Functions by scipy's names, under the facade's name: `import calque.scipy.linalg`."""
