import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { startGateway } from '../gateway.fixture'

const root = join(__dirname, '../../../..')
const generator = join(root, 'tools/e2e/generated-clients/node_modules/openapi-typescript/bin/cli.js')
const out = join(root, '.cache/client-types')

// The end-to-end specs install the generator, and make this comparison, too.
const testWhere = existsSync(generator) ? test : test.skip

testWhere('@leadwire/client has the types of this document', async () => {
  const gateway = await startGateway()
  const headers = { 'accept-encoding': 'identity' }
  const { payload } = await gateway.app.inject({ url: '/openapi.json', headers })
  await gateway.stop()
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'openapi.json'), payload)
  const argv = [join(out, 'openapi.json'), '-o', join(out, 'schema.ts')]
  const [code] = await once(new Worker(generator, { argv, stdout: true }), 'exit')
  expect(code).toBe(0)
  const generated = await readFile(join(out, 'schema.ts'), 'utf8')
  const shipped = await readFile(join(root, 'libs/client/src/generated/schema.ts'), 'utf8')
  if (shipped !== generated)
    throw new Error('Renew them: cp .cache/client-types/schema.ts libs/client/src/generated/')
})
