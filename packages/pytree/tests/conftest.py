"""How many trees a law is tested with: a hundred, and twenty where a run tests a sample and the test is not named."""

from hypothesis import settings


def pytest_configure(config):
    is_full = config.getoption("full", default=True) or any("::" in str(arg) for arg in config.args)
    settings.register_profile("trees", max_examples=100 if is_full else 20, deadline=None)  # no test measures time
    settings.load_profile("trees")
