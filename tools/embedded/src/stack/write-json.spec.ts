import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeJson } from './write-json'

test('a file is replaced by rename, whole, and for its owner only', async () => {
  const room = mkdtempSync(join(tmpdir(), 'write-json-'))
  try {
    const path = join(room, 'dev.json')
    writeFileSync(path, 'old', { mode: 0o644 })
    const before = statSync(path)
    await writeJson(path, { token: 'x' })
    const after = statSync(path)
    expect(after.ino).not.toBe(before.ino)
    expect(after.mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ token: 'x' })
    expect(readdirSync(room)).toEqual(['dev.json'])
  } finally {
    rmSync(room, { recursive: true })
  }
})
