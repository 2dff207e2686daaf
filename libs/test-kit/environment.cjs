// The environment of spec files: Node's own globals, with variables of their project, and a watch on what they start: a file that
// leaves a process running fails. A context of its own, as jest's environment has, would have its own `Error` and `RegExp`, and could
// not share the packages that runtime.cjs loads once.
const asyncHooks = require('node:async_hooks')
const vm = require('node:vm')
const { ModernFakeTimers } = require('@jest/fake-timers')
const { ModuleMocker } = require('jest-mock')

/** Stands for no context, where jest insists on one. */
const NO_CONTEXT = {}
const { compileFunction } = vm
vm.compileFunction = (source, parameters, { parsingContext, ...options }) =>
  compileFunction(
    source,
    parameters,
    parsingContext === NO_CONTEXT ? options : { parsingContext, ...options },
  )

// jest-circus makes one in each file and leaves it on, and in Node 20 each makes every promise of the files after it dearer.
const storages = []
asyncHooks.AsyncLocalStorage = class extends asyncHooks.AsyncLocalStorage {
  constructor(...options) {
    super(...options)
    storages.push(this)
  }
}

module.exports = class {
  constructor({ projectConfig: config }) {
    const { env, customExportConditions } = config.testEnvironmentOptions
    this.conditions = customExportConditions
    this.global = globalThis
    this.moduleMocker = new ModuleMocker(globalThis)
    this.fakeTimersModern = new ModernFakeTimers({ config, global: globalThis })
    this.variables = { ...process.env }
    Object.assign(process.env, env)
    // What the file before has set.
    delete globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')]
    delete globalThis.leadwireProcesses
  }

  exportConditions() {
    return this.conditions
  }

  getVmContext() {
    return NO_CONTEXT
  }

  async setup() {}

  async teardown() {
    for (const storage of storages.splice(0)) storage.disable()
    this.fakeTimersModern.dispose()
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, this.variables)
    const leaked = [...(globalThis.leadwireProcesses ?? [])].filter((child) => !child.hasExited())
    for (const child of leaked) child.killGroup()
    if (leaked.length > 0) {
      const names = leaked.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')
      throw new Error(`left running by this file: ${names}. Stop what you start in afterAll.`)
    }
  }
}
