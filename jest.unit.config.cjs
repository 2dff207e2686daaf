// The specs that start no server and no program: `npm run check` has time for them. They are known by what they import.
const { existsSync, readdirSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { projects, globalSetup, globalTeardown, ...settings } = require('./jest.config.cjs')

const IMPORTS = /^(?:import|export)\s([^']*?)\sfrom '([^']+)'/gm
const STARTING =
  /\b(fromGlobalSetup|create(Template)?Database|joinSystem|mountDisk|start(Child|FullServer|Minio|Nats|NatsServer|Postgres|PostgresServer|Prometheus|System))\b/

const starts = (file, seen = new Set()) => {
  if (seen.has(file)) return false
  seen.add(file)
  return [...readFileSync(file, 'utf8').matchAll(IMPORTS)].some(([, names, from]) => {
    if (from === 'node:child_process' || STARTING.test(names)) return true
    if (!from.startsWith('.')) return false
    const imported = join(dirname(file), `${from}.ts`)
    return existsSync(imported) && starts(imported, seen)
  })
}

module.exports = {
  ...settings,
  projects: projects.flatMap((project) => {
    const files = readdirSync(join(project.rootDir, 'src'), { recursive: true })
    const specs = files
      .filter((name) => name.endsWith('.spec.ts'))
      .map((name) => join(project.rootDir, 'src', name))
    const testMatch = specs.filter((path) => !starts(path))
    return testMatch.length > 0 ? [{ ...project, testMatch }] : []
  }),
}
