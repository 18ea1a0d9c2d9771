"""How many trees a law is tested with: a hundred, and twenty where a run tests a sample and the test is not named."""

from hypothesis import HealthCheck, settings


def pytest_configure(config):
    is_full = config.getoption("full", default=True) or any("::" in str(arg) for arg in config.args)
    untimed = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # no test measures time
    settings.register_profile("trees", max_examples=100 if is_full else 20, **untimed)
    settings.load_profile("trees")
