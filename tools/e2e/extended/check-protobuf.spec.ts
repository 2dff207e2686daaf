import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findPreviousRelease } from '../../previous-release.cjs'

const root = resolve(__dirname, '../../..')
const contracts = 'libs/contracts'
const lead = `${contracts}/proto/leadwire/leads/v1/leads_service.proto`

let clone: string
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'leadwire-check-protobuf-'))
  const copied = [
    'tools/check-protobuf.mjs',
    'tools/previous-release.cjs',
    `${contracts}/buf.yaml`,
    `${contracts}/proto`,
  ]
  for (const path of copied) cpSync(join(root, path), join(clone, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
})
afterEach(() => rmSync(clone, { recursive: true }))

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=spec', '-c', 'user.email=spec@example.com', ...args], { cwd: clone })

const release = (version: string, commit?: string | null) => {
  if (commit === undefined) {
    git('init', '--quiet')
    git('add', contracts)
    git('commit', '--quiet', '--message', version)
  }
  const previous = {
    version,
    commit: commit === undefined ? git('rev-parse', 'HEAD').toString().trim() : commit,
  }
  writeFileSync(join(clone, 'tools/previous-release.json'), JSON.stringify(previous))
}

const rewrite = (from: RegExp, to: string) => {
  const before = readFileSync(join(clone, lead), 'utf8')
  expect(before).toMatch(from)
  writeFileSync(join(clone, lead), before.replace(from, to))
}

const check = () =>
  spawnSync(process.execPath, ['tools/check-protobuf.mjs'], { cwd: clone, encoding: 'utf8', timeout: 60_000 })

test('a message that the previous release would misread fails the check', () => {
  release('0.2.0')
  expect(check()).toMatchObject({ status: 0, stdout: '' })
  rewrite(/string referrer = /, 'int32 referrer = ')
  expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('changed type') })
})

test('the previous release is the last tag before the commit, even if previous-release.json names another one', () => {
  release('0.2.0')
  git('tag', 'v1.0.0')
  rewrite(/string referrer = /, 'int32 referrer = ')
  git('commit', '--quiet', '--all', '--message', '1.1.0')
  git('tag', 'v1.1.0')
  expect(findPreviousRelease(clone)).toEqual({
    version: '1.0.0',
    commit: git('rev-parse', 'v1.0.0').toString().trim(),
  })
  expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('changed type') })
})

test.each([
  ['a'.repeat(40), 'were not compared with 0.2.0'],
  [null, 'there is no previous release'],
])('without a previous release the check reports that nothing was compared, and still checks the style', (commit, says) => {
  release('0.2.0', commit)
  expect(check()).toMatchObject({ status: 0, stdout: expect.stringContaining(says) })
  rewrite(/string referrer = /, 'string Referrer = ')
  expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('lower_snake_case') })
})

test('the previous release is in the history of this clone, unless the clone is shallow', () => {
  const inRoot = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (inRoot('rev-parse', '--is-shallow-repository').stdout.trim() !== 'false') return
  const { commit } = findPreviousRelease(root)
  if (commit === null) return
  expect(inRoot('merge-base', '--is-ancestor', commit, 'HEAD')).toMatchObject({ status: 0 })
})
