import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { objectStoreDirectory } from '@leadwire/test-kit'
import { createSpoolSpace } from './spool-space'
import { SPOOL_PREFIX, sweepSpool } from './spool-upload'

test('removes spooled files not written to for an hour; keeps younger files and those of other programs', async () => {
  const directory = await objectStoreDirectory()
  const now = Date.parse('2026-03-01T12:00:00Z')
  const make = async (name: string, ageMs: number) => {
    const written = new Date(now - ageMs)
    await writeFile(join(directory.path, name), '')
    await utimes(join(directory.path, name), written, written)
  }
  await make(`${SPOOL_PREFIX}old`, 3_600_000)
  await make(`${SPOOL_PREFIX}young`, 3_599_000)
  await make('somebody-else', 7_200_000)
  expect(await sweepSpool(directory.path, createSpoolSpace(1), () => now)).toBe(1)
  expect((await readdir(directory.path)).sort()).toEqual([`${SPOOL_PREFIX}young`, 'somebody-else'])
  await directory.remove()
})
