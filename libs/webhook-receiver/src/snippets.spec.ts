import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { docsFolder, findTool, languages } from './snippet-languages.fixture'
import { type Vector, vectors } from './vectors.fixture'

const page = readFileSync(join(docsFolder, 'README.md'), 'utf8')
const base64 = (text: string | null) => Buffer.from(text ?? '').toString('base64')

/** A vector as the runners read it (see snippet-runners/run.mjs). */
const lineOf = (vector: Vector) =>
  [
    base64(vector.secret),
    vector.body_base64,
    base64(vector.service_signature),
    base64(vector.id),
    base64(vector.timestamp),
    base64(vector.standard_signature),
    vector.now,
  ].join('\t')

const run = (commands: string[][], folder: string): string => {
  const input = `${vectors.map(lineOf).join('\n')}\n`
  const env = { ...process.env, DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1', GOTOOLCHAIN: 'local' }
  const outputs = commands.map(([program, ...args]) => {
    const result = spawnSync(program!, args, { cwd: folder, input, env, encoding: 'utf8' })
    if (result.status !== 0)
      throw new Error(`${program} failed: ${result.error ?? `${result.stdout}${result.stderr}`}`)
    return result.stdout
  })
  return outputs.at(-1)!
}

const verdictsOf = (tool: NonNullable<ReturnType<typeof findTool>>) => {
  const folder = mkdtempSync(join(tmpdir(), 'leadwire-snippet-'))
  try {
    const lines = run(tool.prepare(folder, tool.version), folder).trim().split(/\r?\n/)
    expect(lines).toHaveLength(vectors.length)
    return vectors.map(({ name }, index) => `${name}: ${lines[index]}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const expected = vectors.map(
  ({ name, service, standard }) => `${name}: ${service === 'valid'} ${standard === 'valid'}`,
)

for (const language of languages) {
  const tool = findTool(language)
  if (tool)
    it(`${language.name}: the snippet tells every vector rightly`, () => {
      expect(verdictsOf(tool)).toEqual(expected)
      // Compilers on a busy machine: a cold Go or .NET build takes its time.
    }, 180_000)
  else {
    const missing = language.tools.map(({ program }) => program).join(' nor ')
    it.skip(`${language.name}: skipped, there is no ${missing} on this machine`, () => undefined)
  }

  it(`${language.name}: the page shows the very file`, () => {
    const text = readFileSync(join(docsFolder, 'snippets', language.snippet), 'utf8')
    expect(page).toContain(`\`\`\`${language.fence}\n${text}\`\`\`\n`)
  })
}

it('knows every snippet there is', () => {
  const known = languages.map(({ snippet }) => snippet)
  expect(readdirSync(join(docsFolder, 'snippets')).sort()).toEqual(known.sort())
})
