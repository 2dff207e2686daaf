import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataDirectory } from '@leadwire/embedded'
import { readEncryptionKeys } from './encryption-keys'
import { runFill, usage } from './run-fill'
import { openSql } from './sql'

const readDev = (): { postgres_url: string; assets_url: string } => {
  const file = join(dataDirectory(process.env), 'dev.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    throw new Error(`No running stack was found: ${file} can't be read. Run npm start or set LEADWIRE_DATA.`)
  }
}

const openDatabase = (postgresUrl: string, database: string) => {
  const url = new URL(postgresUrl)
  url.pathname = `/${database}`
  return openSql(url.href)
}

const run = async () => {
  const args = process.argv.slice(2)
  if (args.includes('--help')) return console.log(usage)
  const { postgres_url, assets_url: assetsUrl } = readDev()
  const encryptionKeys = readEncryptionKeys(dataDirectory(process.env))
  const leads = openDatabase(postgres_url, 'leads')
  const webhooks = openDatabase(postgres_url, 'webhooks')
  try {
    console.log(JSON.stringify(await runFill(args, { leads, webhooks, assetsUrl, encryptionKeys })))
  } finally {
    await Promise.all([leads.close(), webhooks.close()])
  }
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
