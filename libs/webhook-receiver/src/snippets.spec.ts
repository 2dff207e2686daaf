import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { abortPost, expectTooLarge, post, postSlowly } from './post.fixture'
import { findTool, type Language, languages, snippets } from './snippet-languages.fixture'
import { bodyOf, type Vector, vectors } from './vectors.fixture'

const page = readFileSync(join(snippets, '../../guides/receiving-webhooks.md'), 'utf8')
const base64 = (text: string | null) => Buffer.from(text ?? '').toString('base64')

/** A vector as the runners read it (see snippet-runners/run.mjs). */
const headersOf = ({ secret, service_signature, id, timestamp, standard_signature, now }: Vector) => {
  const cells = [secret, service_signature, id, timestamp, standard_signature, String(now)]
  return { cells: cells.map(base64).join() }
}
const verdictsOf = ({ service, standard }: Vector) => `${service === 'valid'} ${standard === 'valid'}`

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

/** Builds and starts the runner of a language. */
const start = async (
  { snippet }: Language,
  { prepare, version }: NonNullable<ReturnType<typeof findTool>>,
) => {
  const folder = mkdtempSync(join(tmpdir(), 'leadwire-snippet-'))
  const port = await freePort()
  const env = {
    ...{ ...process.env, DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1', GOTOOLCHAIN: 'local' },
    ...{ PORT: String(port), SNIPPET: join(snippets, snippet) },
  }
  const commands = prepare(folder, version, port)
  for (const [program, ...args] of commands.slice(0, -1)) {
    const result = spawnSync(program!, args, { cwd: folder, env, encoding: 'utf8' })
    if (result.status !== 0)
      throw new Error(`${program} failed: ${result.error ?? `${result.stdout}${result.stderr}`}`)
  }
  const [program, ...args] = commands.at(-1)!
  const child = spawn(program!, args, { cwd: folder, env, stdio: 'ignore' })
  const listens = () =>
    once(connect(port, '127.0.0.1'), 'connect').then(
      ([socket]) => !socket?.destroy(),
      () => false,
    )
  while (child.exitCode === null && !(await listens())) await pause(50)
  return { url: `http://127.0.0.1:${port}/`, child, folder }
}

const lead = vectors[0]!
const unsigned = {
  ...{ ...lead, service_signature: null, id: null, timestamp: null, standard_signature: null },
  ...{ service: 'missing_header', standard: 'missing_header' },
}

describe.each(languages)('$name', (language) => {
  const tool = findTool(language)
  const missing = language.tools.map(({ program }) => program).join(' nor ')
  const whenTool = tool ? describe : describe.skip

  whenTool(`the snippet${tool ? '' : ` (skipped: there is no ${missing} on this machine)`}`, () => {
    let running: { url: string; child: ChildProcess; folder: string }
    const verdicts = async (vector: Vector) =>
      (await post(running.url, headersOf(vector), bodyOf(vector))).text

    beforeAll(async () => {
      running = await start(language, tool!)
      // Compilers on a busy machine: a cold Go or .NET build takes its time.
    }, 180_000)
    afterAll(async () => {
      const { child, folder } = running
      if (child.exitCode === null) {
        const gone = once(child, 'exit')
        child.kill()
        await gone
      }
      rmSync(folder, { recursive: true })
    })
    afterEach(async () => {
      expect(await verdicts(lead)).toBe('true true')
      expect(running.child.exitCode).toBeNull()
    })

    it('tells every vector rightly', async () => {
      const found: string[] = []
      for (const vector of vectors) found.push(`${vector.name}: ${await verdicts(vector)}`)
      expect(found).toEqual(vectors.map((vector) => `${vector.name}: ${verdictsOf(vector)}`))
    })

    it('refuses an unsigned request', async () => {
      expect(await verdicts(unsigned)).toBe('false false')
    })

    it('takes a doubled request twice: it keeps no ids', async () => {
      expect(await Promise.all([verdicts(lead), verdicts(lead)])).toEqual(['true true', 'true true'])
    })

    it('survives an aborted request', () => abortPost(running.url, headersOf(lead)))

    it('refuses an oversized request', () => expectTooLarge(running.url, () => headersOf(lead)))

    it('answers others while a slow request is on its way', async () => {
      const meanwhile = async () => expect(await verdicts(lead)).toBe('true true')
      const { text } = await postSlowly(running.url, headersOf(lead), bodyOf(lead), meanwhile)
      expect(text).toBe('true true')
    })
  })

  it('is what the page shows', () => {
    const text = readFileSync(join(snippets, language.snippet), 'utf8')
    expect(page).toContain(`\`\`\`${language.fence}\n${text}\`\`\`\n`)
  })
})

it('knows every snippet there is', () => {
  const known = languages.map(({ snippet }) => snippet)
  expect(readdirSync(snippets).sort()).toEqual(known.sort())
})
