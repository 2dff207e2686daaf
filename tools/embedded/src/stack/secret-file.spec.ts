import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureSecret } from './secret-file'

test('a token is made once, and only its owner may read it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-token-'))
  try {
    const path = join(folder, 'service-token')
    const token = await ensureSecret(path)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await ensureSecret(path)).toBe(token)
  } finally {
    await rm(folder, { recursive: true })
  }
})
