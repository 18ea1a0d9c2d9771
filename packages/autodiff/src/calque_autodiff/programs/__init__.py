"""Programs and their derivatives: jvp, linearization, cutting, and running backwards."""
