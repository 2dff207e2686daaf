import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureSecret } from './secret-file'

test('a token is made once, only its owner may read it, and an empty one is named, not replaced', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-token-'))
  try {
    const path = join(folder, 'service-token')
    const token = await ensureSecret(path)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await ensureSecret(path)).toBe(token)

    await writeFile(path, '')
    await expect(ensureSecret(path)).rejects.toThrow(`${path} is empty or broken`)
    expect(await readFile(path, 'utf8')).toBe('')
  } finally {
    await rm(folder, { recursive: true })
  }
})
