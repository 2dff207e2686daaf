import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataDirectory } from '@leadwire/embedded'
import { runFill } from './run-fill'
import { openSql } from './sql'

const postgresUrl = (): string => {
  const file = join(dataDirectory(process.env), 'dev.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8')).postgres_url
  } catch {
    throw new Error(`No running stack was found: ${file} can't be read. Run npm start or set LEADWIRE_DATA.`)
  }
}

const open = (database: string) => {
  const url = new URL(postgresUrl())
  url.pathname = `/${database}`
  return openSql(url.href)
}

const run = async () => {
  const databases = { leads: open('leads'), webhooks: open('webhooks') }
  try {
    console.log(JSON.stringify(await runFill(process.argv.slice(2), databases)))
  } finally {
    await Promise.all([databases.leads.close(), databases.webhooks.close()])
  }
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
