import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(__dirname, '../../..')
const contracts = 'libs/contracts'
const lead = `${contracts}/proto/leadwire/leads/v1/lead.proto`

let clone: string
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'leadwire-check-protobuf-'))
  const copied = ['tools/check-protobuf.mjs', `${contracts}/buf.yaml`, `${contracts}/proto`]
  for (const path of copied) cpSync(join(root, path), join(clone, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
})
afterEach(() => rmSync(clone, { recursive: true }))

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=spec', '-c', 'user.email=spec@example.com', ...args], { cwd: clone })

const release = (tag: string) => {
  git('init', '--quiet')
  git('add', contracts)
  git('commit', '--quiet', '--message', tag)
  git('tag', tag)
}

const rewrite = (from: RegExp, to: string) => {
  const before = readFileSync(join(clone, lead), 'utf8')
  expect(before).toMatch(from)
  writeFileSync(join(clone, lead), before.replace(from, to))
}

const check = () =>
  spawnSync(process.execPath, ['tools/check-protobuf.mjs'], { cwd: clone, encoding: 'utf8', timeout: 60_000 })

test('a message that readers of the last release would misread fails the check', () => {
  release('v0.2.0')
  expect(check()).toMatchObject({ status: 0, stdout: '' })
  rewrite(/string referrer = /, 'int32 referrer = ')
  expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('changed type') })
  // The newest release counts, by its version and not by its letters.
  release('v0.10.0')
  expect(check()).toMatchObject({ status: 0, stdout: '' })
})

test('without a release the check says that there is nothing to compare with, and still checks the style', () => {
  expect(check()).toMatchObject({ status: 0, stdout: expect.stringContaining('there is no tag v* here') })
  rewrite(/string referrer = /, 'string Referrer = ')
  expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('lower_snake_case') })
})
