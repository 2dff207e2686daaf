// One PostgreSQL server for the whole run; each spec file makes databases of its own in it. For files that need only accounts of
// their own (joinSystem), one system for each set of settings, started when a file first asks for it. This runs before any
// transform is set up, so it uses what was built.
const { existsSync } = require('node:fs')
const { chmod, mkdtemp, writeFile } = require('node:fs/promises')
const { createServer } = require('node:http')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

// No file is to be refused because another one captured much.
const SHARED = { CAPTURE_RATE: '100000/1m' }

const built = join(__dirname, '../../tools/embedded/dist/index.js')

module.exports = async () => {
  if (!existsSync(built)) {
    throw new Error(
      'tools/embedded is not built: run "npm test", or "npx nx build embedded" once, then jest again.',
    )
  }
  const { createAuthority, findMinio, findNatsServer, freePort, startPostgres } = require(built)
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-specs-'))
  // Root runs the server as another user, who must be able to pass through.
  await chmod(directory, 0o755)
  const say = (line) => console.error(line)
  // Building MinIO takes minutes: the whole test command does it, once; a run of some specs takes it where it is.
  const build = process.env.LEADWIRE_TEST_BUILD_MINIO === '1'
  // Connections may be encrypted or not.
  const authority = await createAuthority()
  const authorities = join(directory, 'postgres-ca.pem')
  await writeFile(authorities, authority.cert)
  const tls = { ...(await authority.issue('postgres')), only: false }
  const [server, nats, minio] = await Promise.all([
    freePort().then((port) =>
      startPostgres({ dataDirectory: join(directory, 'postgres'), port, durable: false, tls }),
    ),
    findNatsServer(process.env, say),
    findMinio(process.env, { build, say }).catch((error) => error),
  ])
  process.env.LEADWIRE_TEST_POSTGRES = server.url()
  process.env.LEADWIRE_TEST_POSTGRES_CA = authorities
  process.env.LEADWIRE_TEST_POSTGRES_TLS = JSON.stringify(tls)
  process.env.LEADWIRE_TEST_NATS_SERVER = nats
  if (minio instanceof Error) process.env.LEADWIRE_TEST_NO_MINIO = minio.message
  else process.env.LEADWIRE_TEST_MINIO = minio
  const shared = {}
  const door = createServer(async ({ url }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://door')
    const env = { ...SHARED, ...Object.fromEntries(searchParams) }
    // A connection kept alive may close while the next file's request is sent.
    response.setHeader('connection', 'close')
    try {
      const { startSystem, stopWatching } = require('./dist')
      stopWatching()
      shared[url] ??= startSystem({ env, tls: pathname === '/tls' })
      response.end(JSON.stringify(await shared[url]))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
  await new Promise((resolve) => door.listen(0, '127.0.0.1', resolve))
  process.env.LEADWIRE_TEST_SYSTEM = `http://127.0.0.1:${door.address().port}`
  globalThis.leadwireSpecs = { server, directory, shared, door }
}
