import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeBody, listHeaders, packageFolder, type Vector, vectors } from './vectors.fixture'
import { verify, verifyStandard } from './verify'

const isJson = (text: string | null) => {
  try {
    JSON.parse(text ?? '')
    return true
  } catch {
    return false
  }
}
/** Returns the expected result: `malformed_body` if the signature is valid but the body is not JSON. */
const expected = (vector: Vector, verdict: string) =>
  verdict === 'valid' && !isJson(vector.body_text) ? 'malformed_body' : verdict
const readCode = (result: { ok: true } | { ok: false; code: string }) => (result.ok ? 'valid' : result.code)

it.each(vectors)('X-SERVICE-Signature: $name', (vector) => {
  const result = verify(decodeBody(vector), listHeaders(vector), vector.secret)
  expect(readCode(result)).toBe(expected(vector, vector.service))
})

it.each(vectors)('webhook-signature: $name', (vector) => {
  const options = { now: new Date(vector.now * 1000) }
  const result = verifyStandard(decodeBody(vector), listHeaders(vector), vector.secret, options)
  expect(readCode(result)).toBe(expected(vector, vector.standard))
})

it('has a vector for every result', () => {
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
whenPython(`is the output of make-vectors.py${hasPython ? '' : ' (skipped: python3 is missing)'}`, () => {
  const { stdout } = spawnSync('python3', [join(packageFolder, 'make-vectors.py')], {
    env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
  })
  expect(stdout.toString()).toBe(readFileSync(join(packageFolder, 'vectors.json'), 'utf8'))
})
