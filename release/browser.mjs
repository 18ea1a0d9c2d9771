// Test containers, and core where a NumPy for it can be had, in Python under WebAssembly.
// node release/browser.mjs FOLDER ROOT WHEEL...   FOLDER has node_modules/pyodide, and wheels of the tools for tests
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, root, ...ours] = process.argv.slice(2).map((path) => resolve(path));
const entry = createRequire(join(folder, "package.json")).resolve("pyodide/pyodide.mjs");
const { loadPyodide } = await import(pathToFileURL(entry));
const python = await loadPyodide();
const wheels = readdirSync(join(folder, "wheels")).filter((name) => name.endsWith("-none-any.whl"));
python.FS.mkdir("/wheels");
python.FS.mount(python.FS.filesystems.NODEFS, { root: join(folder, "wheels") }, "/wheels");
python.FS.mkdir("/root");
python.FS.mount(python.FS.filesystems.NODEFS, { root }, "/root");

let numpy = true;
try {
  await python.loadPackage("numpy", { messageCallback: () => {}, errorCallback: () => {} });
  python.runPython("import numpy");
} catch (error) {
  numpy = false;
  console.log("No NumPy for WebAssembly can be had here, so core is not tested.");
}
const paths = [...wheels.map((name) => `/wheels/${name}`), ...ours.map((path) => path.replace(root, "/root"))];
python.globals.set("paths", python.toPy(paths));
python.globals.set("packages", python.toPy(numpy ? ["pytree", "core"] : ["pytree"]));
const failed = python.runPython(`
import sys, zipfile

sys.dont_write_bytecode = True
for path in paths:
    zipfile.ZipFile(path).extractall("/home/pyodide/site")
sys.path.insert(0, "/home/pyodide/site")
import pytest


class WithoutProcesses:
    """Skips a test that asks for a process or a thread: WebAssembly has neither."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        try:
            return (yield)
        except (OSError, RuntimeError) as error:
            if "does not support processes" in str(error) or "can't start new thread" in str(error):
                pytest.skip(str(error))
            raise


print(f"Python {sys.version.split()[0]} on {sys.platform}: {', '.join(packages)}")
# Python itself overflows the stack of WebAssembly when it frees such a tree, without any code of ours.
deep = "not 100_000 and not deep"
options = ["-q", "-k", deep, "-p", "no:cacheprovider", "-c", "/root/pyproject.toml", "--rootdir=/root"]
pytest.main([*options, *(f"/root/packages/{package}/tests" for package in packages)], plugins=[WithoutProcesses()])
`);
process.exit(failed);
