// One PostgreSQL server for the whole run; each spec file makes databases of its own in it. This runs before any
// transform is set up, so it uses what was built.
const { existsSync } = require('node:fs')
const { chmod, mkdtemp } = require('node:fs/promises')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

const built = join(__dirname, '../../tools/embedded/dist/index.js')

module.exports = async () => {
  if (!existsSync(built)) {
    throw new Error(
      'tools/embedded is not built: run "npm test", or "npx nx build embedded" once, then jest again.',
    )
  }
  const { findNatsServer, freePort, startPostgres } = require(built)
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-specs-'))
  // Root runs the server as another user, who must be able to pass through.
  await chmod(directory, 0o755)
  const [server, nats] = await Promise.all([
    freePort().then((port) =>
      startPostgres({ dataDirectory: join(directory, 'postgres'), port, durable: false }),
    ),
    findNatsServer(process.env, (line) => console.error(line)),
  ])
  process.env.LEADWIRE_TEST_POSTGRES = server.url()
  process.env.LEADWIRE_TEST_NATS_SERVER = nats
  globalThis.leadwireSpecs = { server, directory }
}
