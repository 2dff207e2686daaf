import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '@leadwire/test-kit'
import { abortPost, expectTooLarge, post, postSlowly } from '../post.fixture'
import { findTool, type Language, languages, snippets } from '../snippet-languages.fixture'
import { decodeBody, type Vector, vectors } from '../vectors.fixture'

const page = readFileSync(join(snippets, '../../guides/receiving-webhooks.md'), 'utf8')
const base64 = (text: string | null) => Buffer.from(text ?? '').toString('base64')

/** Renders a vector as a header for the runners (see snippet-runners/run.mjs). */
const renderHeaders = ({ secret, service_signature, id, timestamp, standard_signature, now }: Vector) => {
  const cells = [secret, service_signature, id, timestamp, standard_signature, String(now)]
  return { cells: cells.map(base64).join() }
}
const renderVerdicts = ({ service, standard }: Vector) => `${service === 'valid'} ${standard === 'valid'}`

/** Builds and starts the runner of a language. */
const start = async (
  { snippet }: Language,
  { prepare, version }: NonNullable<ReturnType<typeof findTool>>,
) => {
  const folder = mkdtempSync(join(tmpdir(), 'leadwire-snippet-'))
  const port = await freePort()
  const env = {
    ...process.env,
    DOTNET_CLI_TELEMETRY_OPTOUT: '1',
    DOTNET_NOLOGO: '1',
    GOTOOLCHAIN: 'local',
    PORT: String(port),
    SNIPPET: join(snippets, snippet),
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
  ...lead,
  service_signature: null,
  id: null,
  timestamp: null,
  standard_signature: null,
  service: 'missing_header',
  standard: 'missing_header',
}

describe.each(languages)('$name', (language) => {
  const tool = findTool(language)
  const missing = language.tools.map(({ program }) => program).join(' nor ')
  const whenTool = tool ? describe : describe.skip

  whenTool(`the snippet${tool ? '' : ` (skipped: there is no ${missing} on this machine)`}`, () => {
    let running: { url: string; child: ChildProcess; folder: string }
    const verdicts = async (vector: Vector) =>
      (await post(running.url, renderHeaders(vector), decodeBody(vector))).text

    beforeAll(async () => {
      running = await start(language, tool!)
      // The limit below is high, because a cold build of Go or .NET takes long on a busy machine.
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

    it('verifies every vector correctly', async () => {
      const found: string[] = []
      for (const vector of vectors) found.push(`${vector.name}: ${await verdicts(vector)}`)
      expect(found).toEqual(vectors.map((vector) => `${vector.name}: ${renderVerdicts(vector)}`))
    })

    it('refuses an unsigned request', async () => {
      expect(await verdicts(unsigned)).toBe('false false')
    })

    it('accepts a repeated request, because it keeps no ids', async () => {
      expect(await Promise.all([verdicts(lead), verdicts(lead)])).toEqual(['true true', 'true true'])
    })

    it('survives an aborted request', () => abortPost(running.url, renderHeaders(lead)))

    it('refuses an oversized request', () => expectTooLarge(running.url, () => renderHeaders(lead)))

    it('serves other requests while a slow request arrives', async () => {
      const meanwhile = async () => expect(await verdicts(lead)).toBe('true true')
      const { text } = await postSlowly(running.url, renderHeaders(lead), decodeBody(lead), meanwhile)
      expect(text).toBe('true true')
    })
  })

  it('is the code in the guide', () => {
    const text = readFileSync(join(snippets, language.snippet), 'utf8')
    expect(page).toContain(`\`\`\`${language.fence}\n${text}\`\`\`\n`)
  })
})

it('tests every snippet', () => {
  const known = languages.map(({ snippet }) => snippet)
  expect(readdirSync(snippets).sort()).toEqual(known.sort())
})
