import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readJson, writeJson } from './replace-file'

let path: string
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'replace-file-')), 'dev.json')
})
afterEach(() => rmSync(join(path, '..'), { recursive: true }))

test('a file is replaced by rename and readable only by its owner', async () => {
  writeFileSync(path, 'old', { mode: 0o644 })
  const before = statSync(path)
  await writeJson(path, { token: 'x' })
  const after = statSync(path)
  expect(after.ino).not.toBe(before.ino)
  expect(after.mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ token: 'x' })
  expect(readdirSync(join(path, '..'))).toEqual(['dev.json'])
})

test.each([
  '',
  '\0\0\0\0',
  '{"token":',
])('a file that a power loss damaged (%j) counts as missing and is reported', async (content) => {
  writeFileSync(path, content)
  const said: string[] = []
  expect(await readJson(path, (line) => said.push(line))).toBeUndefined()
  expect(said).toEqual([`${path} is empty or damaged and is ignored`])
})

test('a valid file is read, and a missing one is not reported', async () => {
  const say = () => {
    throw new Error('nothing should be reported')
  }
  expect(await readJson(path, say)).toBeUndefined()
  await writeJson(path, { token: 'x' })
  expect(await readJson(path, say)).toEqual({ token: 'x' })
})
