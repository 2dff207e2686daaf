// Fails if an image that deploy/ pins by its digest is older than 60 days, because an old image lacks
// security fixes. After a failure, merge the updates that Dependabot proposes. The nightly workflow runs this
// check.
// Arguments: files to read instead of the files in deploy/; `--at=2026-01-31` computes the ages on this day.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const MAX_DAYS = 60
const DAY_MS = 24 * 60 * 60 * 1000
const TIMEOUT_MS = 30_000

const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]

const args = process.argv.slice(2)
const day = args.find((argument) => argument.startsWith('--at='))?.slice('--at='.length)
const now = day ? Date.parse(day) : Date.now()
const files = args.filter((argument) => !argument.startsWith('--at='))
const old = []
for (const pin of listPins(files.length > 0 ? files : listFiles())) {
  const created = await findCreationTime(pin)
  const days = Math.floor((now - created) / DAY_MS)
  const isOld = days > MAX_DAYS
  if (isOld) old.push(pin)
  console.log(`${isOld ? 'OLD ' : 'ok  '} ${String(days).padStart(4)} days  ${pin.text}`)
}
if (old.length > 0) {
  console.error(
    `${old.length} pinned images are older than ${MAX_DAYS} days: merge Dependabot's updates of them.`,
  )
  process.exit(1)
}

function listFiles() {
  const names = readdirSync(join(ROOT, 'deploy')).filter((name) =>
    /^(Dockerfile|compose.*\.yaml)$/.test(name),
  )
  return names.map((name) => join(ROOT, 'deploy', name))
}

/** Returns each pinned image of the files once. */
function listPins(paths) {
  const pins = new Map()
  for (const path of paths) {
    const text = readFileSync(path, 'utf8')
    for (const [pin, image, digest] of text.matchAll(/([\w./:-]+)@(sha256:[0-9a-f]{64})/g)) {
      // Removes the variable in front of a default, as in `${POSTGRES_IMAGE:-postgres:18@…`.
      const reference = image.replace(/^[A-Z_]+:-/, '')
      pins.set(pin, {
        path,
        digest,
        name: reference.replace(/:[\w.-]+$/, ''),
        text: `${reference}@${digest}`,
      })
    }
  }
  return [...pins.values()]
}

/**
 * Returns when the image was built, in milliseconds since 1970. Reproducible builds record no time. For them,
 * returns when the image was pinned.
 */
async function findCreationTime({ path, name, digest }) {
  const repository = locate(name)
  const [platform] = (await fetchJson(repository, `manifests/${digest}`)).manifests ?? [{ digest }]
  const { config } = await fetchJson(repository, `manifests/${platform.digest}`)
  const { created } = await fetchJson(repository, `blobs/${config.digest}`)
  const builtAt = Date.parse(created)
  return builtAt > Date.parse('2000-01-01') ? builtAt : findPinTime(path, digest)
}

function findPinTime(path, digest) {
  const git = ['log', '--format=%cI', `-S${digest}`, '--', path]
  const times = execFileSync('git', git, { cwd: dirname(path), encoding: 'utf8' })
    .trim()
    .split('\n')
  return times[0] ? Date.parse(times[0]) : now
}

/** Returns the URL of an image's repository in its registry. Docker Hub's names have no host. */
function locate(name) {
  const [host, ...path] = name.split('/')
  if (host.startsWith('127.0.0.1:')) return `http://${host}/v2/${path.join('/')}`
  if (host.includes('.')) return `https://${host}/v2/${path.join('/')}`
  return `https://registry-1.docker.io/v2/${path.length > 0 ? name : `library/${name}`}`
}

/**
 * Fetches JSON from a registry. If the registry requires a token, fetches a token for anonymous users first.
 */
async function fetchJson(repository, path) {
  const url = `${repository}/${path}`
  const response = await get(url)
  if (response.status !== 401) return readJson(url, response)
  const challenge = response.headers.get('www-authenticate') ?? ''
  const { realm, service, scope } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
  )
  const tokenUrl = `${realm}?${new URLSearchParams({ service, scope })}`
  const { token } = await readJson(tokenUrl, await get(tokenUrl))
  return readJson(url, await get(url, { authorization: `Bearer ${token}` }))
}

function get(url, headers = {}) {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return fetch(url, { headers: { accept: MANIFESTS.join(', '), ...headers }, signal })
}

async function readJson(url, response) {
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`)
  return response.json()
}
