// Node's environment for specs, with variables of their project, and a watch on what they start: a file that leaves a process
// running fails.
const { TestEnvironment } = require('jest-environment-node')

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context)
    Object.assign(this.global.process.env, config.projectConfig.testEnvironmentOptions.env)
    // gRPC and the contracts are loaded once in a worker, rather than once in each file.
    this.global.leadwireCreateAccount = (...args) =>
      require('../../tools/embedded/dist').createAccount(...args)
  }

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
