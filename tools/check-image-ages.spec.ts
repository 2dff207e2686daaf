import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(__dirname, '..')
const makeDigest = (letter: string) => `sha256:${letter.repeat(64)}`
const [INDEX, MANIFEST, CONFIG, SINGLE, REPRODUCIBLE, EPOCH] = [...'abcdef'].map(makeDigest) as [
  string,
  ...string[],
]

// The spec's registry behaves like Docker Hub: a request without a token gets 401 and the URL that issues
// tokens to anonymous users.
const FOUND: Record<string, object> = {
  [`/v2/node/manifests/${INDEX}`]: { manifests: [{ digest: MANIFEST }] },
  [`/v2/node/manifests/${MANIFEST}`]: { config: { digest: CONFIG } },
  [`/v2/node/blobs/${CONFIG}`]: { created: '2026-03-01T10:00:00Z' },
  [`/v2/single/manifests/${SINGLE}`]: { config: { digest: CONFIG } },
  [`/v2/single/blobs/${CONFIG}`]: { created: '2026-03-20T10:00:00Z' },
  [`/v2/base/manifests/${REPRODUCIBLE}`]: { config: { digest: EPOCH } },
  [`/v2/base/blobs/${EPOCH}`]: { created: '1970-01-01T00:00:00Z' },
}

let registry: Server
let folder: string
let host: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-image-ages-'))
  registry = createServer((request, response) => {
    if (request.url!.startsWith('/token?service=hub&scope=pull'))
      return response.end(JSON.stringify({ token: 'anonymous' }))
    if (request.headers.authorization !== 'Bearer anonymous') {
      const challenge = `Bearer realm="http://${host}/token",service="hub",scope="pull"`
      return response.writeHead(401, { 'www-authenticate': challenge }).end()
    }
    const found = FOUND[request.url!]
    return response.writeHead(found ? 200 : 404).end(JSON.stringify(found))
  }).listen(0, '127.0.0.1')
  await once(registry, 'listening')
  host = `127.0.0.1:${(registry.address() as AddressInfo).port}`
})
afterAll(() => {
  registry.close()
  rmSync(folder, { recursive: true })
})

const run = promisify(execFile)

/** Runs the check on a file with these lines. */
const check = async (day: string, ...lines: string[]) => {
  const path = join(folder, 'Dockerfile')
  writeFileSync(path, `${lines.join('\n')}\n`)
  const commit = ['-c', 'user.name=Spec', '-c', 'user.email=spec@example.com', 'commit', '--quiet']
  const date = '2026-01-15T00:00:00Z'
  await run('git', ['init', '--quiet'], { cwd: folder })
  await run('git', ['add', 'Dockerfile'], { cwd: folder })
  await run('git', [...commit, '--allow-empty', `--date=${date}`, '--message=Pin'], {
    cwd: folder,
    env: { ...process.env, GIT_COMMITTER_DATE: date },
  })
  const script = join(ROOT, 'tools/check-image-ages.mjs')
  return run(process.execPath, [script, `--at=${day}`, path]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

test('fails once a pinned image is 61 days old, and names the image', async () => {
  const lines = [
    `FROM ${host}/node:24@${INDEX} AS node`,
    `image: \${SINGLE_IMAGE:-${host}/single:1@${SINGLE}}`,
  ]
  expect(await check('2026-04-30', ...lines)).toMatchObject({ code: 0 })
  const later = await check('2026-05-02', ...lines)
  expect(later).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('1 pinned images are older than 60 days'),
  })
  expect(later.stdout).toBe(
    `OLD    61 days  ${host}/node:24@${INDEX}\nok     42 days  ${host}/single:1@${SINGLE}\n`,
  )
})

test('takes the day of the pin for an image that does not say when it was built', async () => {
  const { code, stdout } = await check('2026-02-15', `FROM ${host}/base@${REPRODUCIBLE}`)
  expect([code, stdout]).toEqual([0, `ok     31 days  ${host}/base@${REPRODUCIBLE}\n`])
})

test('fails for an image that the registry does not have', async () => {
  expect(await check('2026-02-15', `FROM ${host}/none@${INDEX}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('responded with 404'),
  })
})

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

// Dependabot reads images in FROM and `image:`, even if the image is the default of a variable. It does not
// read images in ARG.
test('Dependabot finds each pinned image and action', () => {
  const updates = read('.github/dependabot.yml')
  for (const place of [
    'docker\n    directory: /deploy',
    'docker-compose\n    directory: /deploy',
    'github-actions\n    directory: /',
  ])
    expect(updates).toContain(`package-ecosystem: ${place}\n`)
  const readable =
    /^(FROM (--platform=\S+ )?[\w.:/-]+@sha256:\w{64} AS [\w-]+|\s+image: \$\{\w+:-[\w.:/-]+@sha256:\w{64}\})$/
  const pinned = readdirSync(join(ROOT, 'deploy'))
    .filter((name) => /^(Dockerfile|compose.*\.yaml)$/.test(name))
    .flatMap((name) => read(`deploy/${name}`).split('\n'))
    .filter((line) => line.includes('@sha256:'))
  expect(pinned.length).toBeGreaterThan(5)
  expect(pinned.filter((line) => !readable.test(line))).toEqual([])
})

test('images run the newest supported Node, and both stages of Node have the same image', () => {
  const images = [...read('deploy/Dockerfile').matchAll(/ (node:\S+) AS /g)].map(([, image]) => image!)
  expect(images).toHaveLength(2)
  expect(images[0]).toBe(images[1])
  const [, newest] = /\| Node \|[^|]*\| (\d+) /.exec(read('docs/releases.md')) ?? []
  expect(images[0]).toMatch(new RegExp(`^node:${newest}\\.`))
})
