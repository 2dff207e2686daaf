// Node's environment for specs, and a watch on what they start: a file that leaves a process running fails.
const { TestEnvironment } = require('jest-environment-node')

module.exports = class extends TestEnvironment {
  async teardown() {
    const leaked = [...(this.global.leadwireProcesses ?? [])].filter((child) => !child.hasExited())
    for (const child of leaked) child.killGroup()
    await super.teardown()
    if (leaked.length > 0) {
      const names = leaked.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')
      throw new Error(`left running by this file: ${names}. Stop what you start in afterAll.`)
    }
  }
}
