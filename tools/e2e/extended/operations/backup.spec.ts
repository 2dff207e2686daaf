import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const DEPLOY = resolve(__dirname, '../../../../deploy')

// This script replaces docker. It prints an archive as PostgreSQL would, and can let each of the two steps of
// a backup fail.
const DOCKER = `#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
  'compose exec -T postgres '*) cat "$ARCHIVE"; exit "\${POSTGRES_STATUS:-0}" ;;
  *' rclone copy '*) exit "\${COPY_STATUS:-0}" ;;
esac
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-backup-'))
  for (const script of ['backup.sh', 'restore.sh', 'rclone.sh'])
    cpSync(join(DEPLOY, script), join(folder, script))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/docker'), DOCKER, { mode: 0o755 })
  const archive = spawnSync('gzip', { input: 'the databases' }).stdout
  writeFileSync(join(folder, 'whole'), archive)
  writeFileSync(join(folder, 'cut'), archive.subarray(0, -10))
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = (script: string, { archive = 'whole', ...statuses }: Record<string, string> = {}) => {
  const calls = join(folder, 'calls')
  writeFileSync(calls, '')
  const { status, stderr } = spawnSync(join(folder, script), [join(folder, 'backup')], {
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      CALLS: calls,
      ARCHIVE: join(folder, archive),
      ...statuses,
    },
  })
  return { status, stderr, calls: readFileSync(calls, 'utf8') }
}

test('a complete backup is restored into a stack without data', () => {
  expect(run('backup.sh')).toMatchObject({ status: 0, stderr: '' })
  expect(run('restore.sh')).toMatchObject({
    status: 0,
    stderr: '',
    calls: expect.stringMatching(/^compose down --volumes\n/),
  })
})

test.each([
  ['PostgreSQL', { archive: 'cut', POSTGRES_STATUS: '1' }],
  ['PostgreSQL, after the last byte,', { POSTGRES_STATUS: '1' }],
  ['the copy of the files', { COPY_STATUS: '1' }],
])('a backup in which %s failed is refused, and all data stays', (_, failure) => {
  expect(run('backup.sh', failure)).toMatchObject({ status: 1 })
  const backup = join(folder, 'backup')
  const stderr = `${backup} is not a complete backup: the file "complete", which backup.sh writes last, is missing\n`
  expect(run('restore.sh')).toEqual({ status: 1, stderr, calls: '' })
})

test('a damaged archive is refused, and all data stays', () => {
  expect(run('backup.sh', { archive: 'cut' })).toMatchObject({ status: 0 })
  const stderr = expect.stringContaining(`${join(folder, 'backup/postgres.tar.gz')} is missing or damaged\n`)
  expect(run('restore.sh')).toEqual({ status: 1, stderr, calls: '' })
})

test('a backup without its files is refused, and all data stays', () => {
  run('backup.sh')
  const files = join(folder, 'backup/files')
  rmSync(files, { recursive: true })
  expect(run('restore.sh')).toEqual({ status: 1, stderr: `${files} is missing\n`, calls: '' })
})
