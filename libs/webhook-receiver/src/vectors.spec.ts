import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bodyOf, headersOf, packageFolder, type Vector, vectors } from './vectors.fixture'
import { verify, verifyStandard } from './verify'

const isJson = (text: string | null) => {
  try {
    JSON.parse(text ?? '')
    return true
  } catch {
    return false
  }
}
/** What the package answers: a right signature over a body that is no JSON has a code of its own. */
const expected = (vector: Vector, verdict: string) =>
  verdict === 'valid' && !isJson(vector.body_text) ? 'malformed_body' : verdict
const verdictOf = (result: { ok: true } | { ok: false; code: string }) => (result.ok ? 'valid' : result.code)

it.each(vectors)('X-SERVICE-Signature: $name', (vector) => {
  const result = verify(bodyOf(vector), headersOf(vector), vector.secret)
  expect(verdictOf(result)).toBe(expected(vector, vector.service))
})

it.each(vectors)('webhook-signature: $name', (vector) => {
  const options = { now: new Date(vector.now * 1000) }
  const result = verifyStandard(bodyOf(vector), headersOf(vector), vector.secret, options)
  expect(verdictOf(result)).toBe(expected(vector, vector.standard))
})

it('has vectors of every kind', () => {
  const kinds = new Set(vectors.flatMap(({ service, standard }) => [service, standard]))
  expect([...kinds].sort()).toEqual([
    'bad_signature',
    'malformed_header',
    'missing_header',
    'too_new',
    'too_old',
    'valid',
  ])
})

const hasPython = spawnSync('python3', ['--version']).status === 0
const whenPython = hasPython ? it : it.skip
whenPython(`is what make-vectors.py makes${hasPython ? '' : ' (skipped: there is no python3 here)'}`, () => {
  const { stdout } = spawnSync('python3', [join(packageFolder, 'make-vectors.py')], {
    env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
  })
  expect(stdout.toString()).toBe(readFileSync(join(packageFolder, 'vectors.json'), 'utf8'))
})
