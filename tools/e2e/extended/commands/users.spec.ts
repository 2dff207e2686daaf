import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, joinSystem, type SharedSystem } from '@leadwire/test-kit'

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
 * Runs the command line and returns its output. If it fails, rejects with an error that has its `stderr`.
 */
const leadwire = async (...args: string[]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args, '--json'], { env })
  return JSON.parse(stdout)
}

const users = (...args: string[]) => leadwire('users', ...args, '--account', String(system.account.id))

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

const ask = async (path: string, token: string, method = 'GET') => {
  const response = await fetch(`${system.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  })
  return { status: response.status, json: await response.json() }
}

test('a user gets a role, signs in with a printed link, and loses the role', async () => {
  const url = ['--url', system.baseUrl]
  const fields = ['--email', 'kim@example.com', '--name', 'Kim']
  const user = await users('create', ...fields, '--role', 'admin', ...url)
  expect(user).toMatchObject({ role: 'admin' })
  const id = ['--id', String(user.id)]
  const link = await users('sign-in-link', ...id, ...url)
  const [address, secret] = link.url.split('#sign-in=')
  expect(address).toBe(`${system.baseUrl}/console`)
  expect(await ask('/sessions', secret, 'POST')).toMatchObject({
    status: 200,
    json: { data: { email: 'kim@example.com', role: 'admin' } },
  })

  const last = users('update', ...id, '--role', 'none')
  await expect(last).rejects.toMatchObject({ stderr: expect.stringContaining('only admin of the account') })
  await users('create', '--email', 'lee@example.com', '--name', 'Lee', '--role', 'admin', ...url)
  expect(await users('update', ...id, '--role', 'none')).toMatchObject({ role: null })
  const refused = users('sign-in-link', ...id, ...url)
  await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining('has no role') })
})

test('the first user of a new account is an admin, whom an e-mail invites', async () => {
  const admin = ['--admin-email', 'grace@example.com', '--admin-name', 'Grace Hopper']
  const command = ['accounts', 'create', '--name', 'Clear Windows', ...admin]
  await expect(leadwire(...command)).rejects.toMatchObject({ stderr: expect.stringContaining('--url') })
  const { admin_id, token } = await leadwire(...command, '--url', system.baseUrl)
  const { json } = await ask('/manage/users', token)
  expect(json).toMatchObject({ data: [{ id: admin_id, name: 'Grace Hopper', role: 'admin' }] })
  await eventually(async () => {
    const { json } = await ask('/manage/notifications', token)
    expect(json).toMatchObject({ data: [{ subject: 'invitation', user_id: admin_id, status: 'delivered' }] })
  })
})
