import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { joinSystem, type SharedSystem } from '@leadwire/test-kit'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

let system: SharedSystem
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  system = await joinSystem()
  const findGrpc = (wanted: string) => system.services.find(({ service }) => service === wanted)!.grpc!
  env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
  }
})
afterAll(() => system?.stop())

/**
 * Runs `leadwire users …` and returns its output. If it fails, rejects with an error that has its `stderr`.
 */
const users = async (...args: string[]) => {
  const account = ['--account', String(system.account.id)]
  const command = [MAIN, 'users', ...args, ...account, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, command, { env })
  return JSON.parse(stdout)
}

test('a user is created, changed and removed, and cannot be changed afterwards', async () => {
  const user = await users('create', '--email', 'sam@example.com', '--name', 'Sam')
  expect(user).toMatchObject({ email: 'sam@example.com', name: 'Sam', removed_at: null })
  const id = ['--id', String(user.id)]
  expect(await users('update', ...id, '--name', 'Samantha')).toEqual({ ...user, name: 'Samantha' })
  const changed = await users('update', ...id, '--email', 'samantha@example.com')
  expect(changed).toEqual({ ...user, name: 'Samantha', email: 'samantha@example.com' })
  expect(await users('list')).toEqual([changed])
  expect(await users('remove', ...id)).toEqual({ ...changed, removed_at: expect.any(String) })
  expect(await users('list')).toEqual([])
  await expect(users('update', ...id, '--name', 'Sue')).rejects.toMatchObject({
    stderr: expect.stringContaining('id: The user was removed and cannot be changed.'),
  })
  await expect(users('remove', '--id', '999999999')).rejects.toMatchObject({
    stderr: expect.stringContaining('There is no such user.'),
  })
})
