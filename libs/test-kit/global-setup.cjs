// Starts the servers that the spec files of a run share. All files share one PostgreSQL server, in which each
// file creates its own databases. A file that needs only its own account calls `joinSystem`. All files that
// call it with the same settings share one system, which starts for the first of these files. Receivers of
// webhooks get their ports from here.
//
// jest runs this file before it sets up its transforms, so this file requires built files.
const { existsSync } = require('node:fs')
const { chmod, mkdtemp, writeFile } = require('node:fs/promises')
const { createServer } = require('node:http')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

// Raises the rate limit of captured forms, because all spec files that share a system count towards the same
// limit.
const SHARED = { CAPTURE_RATE: '100000/1m' }

const built = join(__dirname, '../../tools/embedded/dist/index.js')

module.exports = async () => {
  if (!existsSync(built)) {
    throw new Error(
      'tools/embedded is not built: run "npm test", or "npx nx build embedded" once, then jest again.',
    )
  }
  const { createAuthority, findMinio, findNatsServer, findSeaweedfs, freePort, startPostgres } = require(
    built,
  )
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-specs-'))
  process.env.LEADWIRE_TEST_PROCESSES = join(directory, 'processes')
  // If this process is root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(directory, 0o755)
  const say = (line) => console.error(line)
  // Building the S3 servers takes minutes, so only `npm test -- --all` builds them. Every other run uses them
  // if they are already built.
  const build = process.env.LEADWIRE_TEST_BUILD_S3_SERVERS === '1'
  // The server accepts both plain and encrypted connections (`only: false`).
  const authority = await createAuthority()
  const authorities = join(directory, 'postgres-ca.pem')
  await writeFile(authorities, authority.cert)
  const tls = { ...(await authority.issue('postgres')), only: false }
  const [server, nats, minio, seaweedfs] = await Promise.all([
    freePort().then((port) =>
      startPostgres({ dataDirectory: join(directory, 'postgres'), port, durable: false, tls }),
    ),
    findNatsServer(process.env, say),
    findMinio(process.env, { build, say }).catch((error) => error),
    findSeaweedfs(process.env, { build, say }).catch((error) => error),
  ])
  process.env.LEADWIRE_TEST_POSTGRES = server.url()
  process.env.LEADWIRE_TEST_POSTGRES_CA = authorities
  process.env.LEADWIRE_TEST_POSTGRES_TLS = JSON.stringify(tls)
  process.env.LEADWIRE_TEST_NATS_SERVER = nats
  if (minio instanceof Error) process.env.LEADWIRE_TEST_NO_MINIO = minio.message
  else process.env.LEADWIRE_TEST_MINIO = minio
  if (seaweedfs instanceof Error) process.env.LEADWIRE_TEST_NO_SEAWEEDFS = seaweedfs.message
  else process.env.LEADWIRE_TEST_SEAWEEDFS = seaweedfs
  const shared = {}
  const door = createServer(async ({ url }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://door')
    const env = { ...SHARED, ...Object.fromEntries(searchParams) }
    // Closes each connection, because a connection that is kept alive might close while the next file's
    // request is being sent.
    response.setHeader('connection', 'close')
    try {
      // This process reserves the port as long as it runs, which is longer than any worker of jest runs.
      if (pathname === '/port') return response.end(String(await freePort(searchParams.get('host'))))
      const { startSystem } = require('./dist')
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
