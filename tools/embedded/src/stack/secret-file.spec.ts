import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureSecret } from './secret-file'

test('a secret is created once and readable only by its owner; an empty file is an error and not replaced', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-token-'))
  try {
    const path = join(folder, 'service-token')
    const token = await ensureSecret(path)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await ensureSecret(path)).toBe(token)

    await writeFile(path, '')
    await expect(ensureSecret(path)).rejects.toThrow(`${path} is empty or damaged`)
    expect(await readFile(path, 'utf8')).toBe('')
  } finally {
    await rm(folder, { recursive: true })
  }
})
