import { eventually } from '@leadwire/embedded'
import { Client } from 'pg'
import { createDatabase, createTemplateDatabase, cutConnections } from './database'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describe('createDatabase', () => {
  test('gives each caller a database of its own, and drops it though it is in use', async () => {
    const [one, other] = await Promise.all([createDatabase(), createDatabase()])
    await query(one.url, 'create table mark ()')
    const tables = `select relname from pg_class where relname = 'mark'`
    expect(await query(one.url, tables)).toEqual([{ relname: 'mark' }])
    expect(await query(other.url, tables)).toEqual([])

    const user = new Client({ connectionString: one.url })
    const errors: Error[] = []
    user.on('error', (error) => errors.push(error))
    await user.connect()
    await one.drop()
    await eventually(() => expect(errors[0]).toMatchObject({ code: '57P01' }))
    await expect(query(one.url, 'select 1')).rejects.toThrow('does not exist')
    await other.drop()
  })

  test('copies a template that is prepared once, however many ask at once', async () => {
    let prepared = 0
    const prepare = async (url: string) => {
      prepared++
      await query(url, 'create table mark ()')
    }
    const key = `spec_${process.pid}`
    const [template] = await Promise.all([
      createTemplateDatabase(key, prepare),
      createTemplateDatabase(key, prepare),
    ])
    const copy = await createDatabase({ template: template! })
    expect(prepared).toBe(1)
    expect(await query(copy.url, `select relname from pg_class where relname = 'mark'`)).toHaveLength(1)
    await copy.drop()
  })

  test('cutConnections ends the sessions of one database', async () => {
    const database = await createDatabase()
    const client = new Client({ connectionString: database.url })
    const errors: Error[] = []
    client.on('error', (error) => errors.push(error))
    await client.connect()
    await cutConnections(database)
    await eventually(() => expect(errors[0]).toMatchObject({ code: '57P01' }))
    await database.drop()
  })
})
