import { readFile } from 'node:fs/promises'
import { eventually } from '@leadwire/test-kit'
import { csvOf } from '../bulk/import.fixture'
import { LEAD, startStage } from '../stage.fixture'
import { describeConsole } from './console.fixture'

const USER = { name: 'Sam Bay', email: 'sam@example.com' }

// A probe of the token's scopes.
const REFUSED = /403 \(Forbidden\)/
const INVALID = /422 \(Unprocessable/

const start = () => startStage({ env: { RECONCILE_INTERVAL: '1s' } })
describeConsole('leads and the account in the console', start, (world) => {
  const { heading, open } = world
  const main = () => world.page.getByRole('main')
  const button = (name: string) => main().getByRole('button', { name, exact: true })
  const link = (name: string) => world.page.getByRole('link', { name, exact: true })
  const label = (name: string) => main().getByLabel(name, { exact: true }).filter({ visible: true })
  const said = (text: string | RegExp) => world.page.getByRole('status').getByText(text)
  const row = (text: string) => main().getByRole('row').filter({ hasText: text })
  const dialog = () => world.page.getByRole('dialog')
  const yes = (name: string) => dialog().getByRole('button', { name, exact: true }).click()
  const get = <T = Record<string, unknown>>(path: string) => world.tenant.send<T>('GET', path)
  const list = <T = Record<string, unknown>>(path: string) => get<T[]>(path)
  const newUser = (change = {}) =>
    world.tenant.send<{ id: number }>('POST', '/manage/users', { json: { ...USER, ...change } })
  const navigation = () => world.page.getByRole('navigation', { name: 'Console' }).innerText()
  const download = async (name: string) => {
    const [file] = await Promise.all([world.page.waitForEvent('download'), button(name).click()])
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') }
  }

  test('leads are found by filters, which stay with the page whatever they find', async () => {
    world.expected = [INVALID]
    const { id } = await newUser()
    await world.tenant.createLead({ name: 'Door', first_name: 'Grace', status: 'sold', user_id: id })
    await world.tenant.createLead({ name: 'Roof', postcode: 'M1 1AE' })
    await open('/leads')
    await heading('Leads').waitFor()
    await row('Roof').waitFor()
    await world.inspect('leads')
    await label('Name, e-mail, phone or postcode').fill('grac')
    await button('Filter').click()
    await row('Roof').waitFor({ state: 'detached' })
    expect(await row('Door').innerText()).toMatch(/Sold.*£0.*SW1A 1AA.*Website/s)
    await label('Status').selectOption('Open')
    await main().getByText('No lead matches.').waitFor()
    expect(await label('Name, e-mail, phone or postcode').inputValue()).toBe('grac')
    await button('Clear').click()
    await label('Assigned user').selectOption('Sam Bay')
    await row('Roof').waitFor({ state: 'detached' })
    await button('Clear').click()
    await row('Roof').waitFor()
    await main().getByText('More filters').click()
    await label('Created before').fill('2020-01-01T00:00')
    await button('Filter').click()
    await main().getByText('No lead matches.').waitFor()
    await label('Postcode, or its start').fill('not a postcode')
    await button('Filter').click()
    await main().getByText('The postcode').waitFor()
    expect(await label('Created before').inputValue()).toBe('2020-01-01T00:00')
    await world.inspect('leads-with-an-error')
    await label('Postcode, or its start').fill('m1')
    await label('Created before').fill('')
    await button('Filter').click()
    await row('Roof').waitFor()
    expect(await row('Door').count()).toBe(0)
  })

  test('what can not be loaded shows no leads of before, and what no field is for is said', async () => {
    world.expected = [/ERR_FAILED/, INVALID]
    await world.tenant.createLead()
    await open('/leads')
    await row('Bay window').waitFor()
    await world.page.route('**/leads?*', (route) => route.abort())
    await label('Status').selectOption('Sold')
    await main().getByText('The API could not be reached.').waitFor()
    expect(await row('Bay window').count()).toBe(0)
    await world.page.unroute('**/leads?*')
    await button('Try again').click()
    await main().getByText('No lead matches.').waitFor()
    await world.page.goto(`${world.stage.system.baseUrl}/console/leads?cursor=lost`)
    await main().getByRole('alert').getByText('The cursor').waitFor()
  })

  test('a list goes on by its cursor', async () => {
    for (let index = 1; index <= 21; index++) await world.tenant.createLead({ name: `Lead ${index}.` })
    await open('/leads?status=open')
    await row('Lead 21.').waitFor()
    expect(await row('Lead 1.').count()).toBe(0)
    await link('More').click()
    await row('Lead 1.').waitFor()
    expect(await row('Lead 21.').count()).toBe(0)
    await link('First').click()
    await row('Lead 21.').waitFor()
  })

  test('a lead is changed, its user notified, and what was done is in its history', async () => {
    const { id } = await newUser()
    const { reference } = await world.tenant.createLead()
    await open(`/leads/${reference}`)
    await heading('Bay window Open').waitFor()
    await label('Status').selectOption('Sold')
    await label('Value in pounds').fill('4500')
    await label('Assign to').selectOption('Sam Bay (sam@example.com)')
    await label('Notify the assigned user').check()
    await button('Save').click()
    await heading('Bay window Sold').waitFor()
    await row('Assigned user: none → sam@example.com').waitFor()
    expect(await row('Updated').innerText()).toMatch(/Status: Open → Sold.*Value: £0 → £4,500/s)
    expect(await get(`/leads/${reference}`)).toMatchObject({ status: 'sold', value: 4500 })
    const found = await eventually(async () => {
      const all = await list(`/manage/notifications?lead_reference=${reference}`)
      expect(all).toMatchObject([{ subject: 'assigned', status: 'delivered', user_id: id }])
      return all[0]!
    })

    await link('Notifications').last().click()
    await link(`#${found['id']}`).click()
    await heading(`Notification ${found['id']} Delivered`).waitFor()
    await row('Attempt 1').waitFor()
    await world.inspect('notification')
    await button('Retry now').click()
    await yes('Send again')
    await said(/^Attempt 2: 250 Success/).waitFor()
    expect(await get(`/manage/notifications/${found['id']}`)).toMatchObject({ attempt_count: 2 })
    await link('Notifications').first().click()
    await row(`#${found['id']}`).waitFor()
    await world.inspect('notifications')
  })

  test('a change of a lead neither undoes what others change meanwhile, nor is undone by it', async () => {
    world.expected = [INVALID]
    await newUser()
    const { reference } = await world.tenant.createLead()
    const change = (json: object) => world.tenant.send('PATCH', `/leads/${reference}`, { json })
    await open(`/leads/${reference}`)
    await label('Value in pounds').fill('£4,500')
    await button('Save').click()
    await main().getByText('The value must be an integer.').waitFor()
    await label('Value in pounds').fill('4500')
    await label('Assign to').selectOption('Sam Bay (sam@example.com)')
    await label('Notify the assigned user').check()
    await button('Save').click()
    await row('none → sam@example.com').waitFor()
    await change({ value: 700 })
    await main().getByText('£700', { exact: true }).waitFor()
    await label('Status').selectOption('Lost')
    await change({ status: 'sold' })
    await heading('Bay window Sold').waitFor()
    await button('Save').click()
    await heading('Bay window Lost').waitFor()
    expect(await get(`/leads/${reference}`)).toMatchObject({ status: 'lost', value: 700 })
    expect(await list(`/manage/notifications?lead_reference=${reference}`)).toHaveLength(1)
    expect(await row('Created').getByRole('cell').last().innerText()).toMatch(/\d \w+ \d{4}, /)
  })

  test('from a page without https a file is added, and there is nothing to copy with', async () => {
    // As Chromium has it at another address than this machine's.
    await world.page.addInitScript(
      `delete Crypto.prototype.randomUUID; Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`,
    )
    const { reference } = await world.tenant.createLead({ email: 'ada?bcc=eve@example.com' })
    await open(`/leads/${reference}`)
    await button('Add a file').click()
    await label('Name').fill('Survey')
    await label('File').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('Bay 3') })
    await yes('Upload')
    await row('Survey').waitFor()
    expect(await button('Copy').count()).toBe(0)
    expect(await link('ada?bcc=eve@example.com').getAttribute('href')).toBe(
      'mailto:ada%3Fbcc%3Deve@example.com',
    )
  })

  test('a lead has its quotes, appointments, callbacks, files and deliveries', async () => {
    const { receiver } = await world.tenant.listen({ description: 'CRM' })
    const { id } = await newUser()
    const lead = { ...LEAD, mobile: '07700 900123', description: 'After six', quotes: [{ status: 'draft' }] }
    const { reference } = await world.tenant.send('POST', '/manage/leads', { json: lead })
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await open(`/leads/${reference}`)
    await heading('Bay window Open').waitFor()
    await main()
      .getByRole('heading', { name: /^Quote \d+, draft$/ })
      .waitFor()
    await row('Lead created').filter({ hasText: 'CRM' }).waitFor()

    for (const kind of ['appointment', 'callback']) {
      await button(`New ${kind}`).click()
      await label('Date and time in the United Kingdom').fill('2026-12-24T14:30')
      await yes('Schedule')
      await said(`The ${kind} is scheduled.`).waitFor()
      await row('24 Dec 2026, 14:30').filter({ hasText: 'Sam Bay' }).first().waitFor()
      expect(await list(`/leads/${reference}/${kind}s`)).toMatchObject([
        { user_id: id, notify: true, date: '2026-12-24T14:30:00.000000Z' },
      ])
      const entry = row('24 Dec 2026, 14:30').filter({ hasText: 'Sam Bay' }).last()
      await entry.getByRole('button', { name: 'Move' }).click()
      expect(await label('Date and time in the United Kingdom').inputValue()).toBe('2026-12-24T14:30')
      await label('Date and time in the United Kingdom').fill('2026-12-25T09:00')
      await yes('Save')
      await said(`The ${kind} is changed.`).waitFor()
      const moved = row('25 Dec 2026, 09:00').filter({ hasText: 'Sam Bay' }).last()
      if (kind === 'callback') continue
      await moved.getByRole('button', { name: 'Cancel' }).click()
      await yes(`Cancel the ${kind}`)
      await said(`The ${kind} is cancelled.`).waitFor()
      expect(await list(`/leads/${reference}/${kind}s`)).toMatchObject([
        { date: '2026-12-25T09:00:00.000000Z', cancelled_at: expect.any(String) },
      ])
    }

    world.expected = [INVALID]
    await button('Add a file').click()
    await label('Name').fill('Survey')
    await label('File').setInputFiles({ name: 'a.pdf', mimeType: 'text/plain', buffer: Buffer.from('none') })
    await yes('Upload')
    await dialog().getByRole('alert').waitFor()
    await label('File').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('Bay 3') })
    await yes('Upload')
    await row('Survey').waitFor()
    expect(await download('Download a.txt')).toEqual({ name: 'a.txt', text: 'Bay 3' })
    const { name, text } = await download('Export')
    expect(name).toBe(`lead-${reference}.json`)
    expect(JSON.parse(text)).toMatchObject({
      lead: { reference },
      complete: true,
      callbacks: [{ user_id: id }],
    })
    await world.inspect('lead')
    await link('All deliveries').click()
    await heading('Deliveries').waitFor()
    await row('Bay window').getByRole('link', { name: 'Bay window' }).click()
    await heading('Bay window Open').waitFor()
  })

  test('a lead is erased after a question, and its receipt is shown', async () => {
    const { reference } = await world.tenant.createLead({ name: 'W'.repeat(255) })
    await open(`/leads/${reference}`)
    await button('Erase').click()
    const widths = await dialog().evaluate((one) => [
      (one as unknown as { scrollWidth: number }).scrollWidth,
      (one as unknown as { clientWidth: number }).clientWidth,
    ])
    expect(widths[0]).toBe(widths[1])
    await dialog().getByText("It can't be undone.").waitFor()
    expect(await dialog().innerText()).toContain(
      'the customer: name, company, e-mail, phone numbers, address',
    )
    await world.inspect('erase')
    await yes('Erase for good')
    await main().getByRole('heading', { name: 'Erasure Done' }).waitFor()
    await row('attached files').waitFor()
    expect(await main().innerText()).not.toContain('Ada')
    expect(await button('Save').count()).toBe(0)
    expect(await get(`/manage/leads/${reference}/erasure`)).toMatchObject({ status: 'done' })
    await world.inspect('erased')
  })

  test('each token sees what it can do', async () => {
    world.expected = [REFUSED]
    const { reference } = await world.tenant.createLead()
    const reader = await world.tenant.newToken({ scopes: ['leads:read'] })
    await open('', reader.token)
    await row('Bay window').waitFor()
    expect(await navigation()).toBe('Leads')
    await world.inspect('leads-of-a-reader')
    await link('Bay window').click()
    await heading('Bay window Open').waitFor()
    expect(await main().getByRole('button').allInnerTexts()).toEqual(['Copy'])

    await world.newTab()
    const writer = await world.tenant.newToken({ scopes: ['leads'] })
    await open(`/leads/${reference}`, writer.token)
    await label('Value in pounds').fill('12')
    await button('Save').click()
    await main().getByText('£12').waitFor()
    expect(await button('Erase').count()).toBe(0)

    await world.newTab()
    const manager = await world.tenant.newToken({ scopes: ['manage'] })
    await open(`/leads/${reference}`, manager.token)
    await main().getByText('The token lacks the scope leads:read.').waitFor()
    expect((await navigation()).split('\n')).not.toContain('Leads')

    await world.newTab()
    await open('/leads/statuses')
    await heading('Not Found').waitFor()
  })

  test('users are created, edited and removed', async () => {
    world.expected = [INVALID]
    await newUser({ name: 'Other', email: 'other@example.com' })
    await open('/users')
    await button('New user').click()
    await label('Name').fill('Sam')
    await label('E-mail').fill('other@example.com')
    await yes('Create')
    await dialog().getByText('The email has already been taken.').waitFor()
    await world.inspect('new-user')
    await label('E-mail').fill('sam@example.com')
    await yes('Create')
    await row('sam@example.com').waitFor()
    await row('sam@example.com').getByRole('button', { name: 'Edit' }).click()
    await label('Name').fill('Sam Bay')
    await yes('Save')
    await row('Sam Bay').waitFor()
    expect(await list('/manage/users')).toMatchObject([{ name: 'Other' }, USER])
    const { id } = (await list<{ id: number }>('/manage/users'))[1]!
    await world.tenant.send('PATCH', `/manage/users/${id}`, { json: { name: 'Sam Day' } })
    await row('Sam Day').waitFor()
    await row('Sam Day').getByRole('button', { name: 'Edit' }).click()
    expect(await label('Name').inputValue()).toBe('Sam Day')
    await label('Name').fill('Sam Bay')
    await yes('Save')
    await row('Sam Bay').waitFor()
    await world.inspect('users')
    await row(USER.email).getByRole('button', { name: 'Calendar address' }).click()
    await yes('Make it')
    await main()
      .getByRole('heading', { name: `The address of the calendar of ${USER.name}, shown only now` })
      .waitFor()
    const address = await main().getByText('/calendars/lw_cal_').innerText()
    const read = () => world.tenant.client.request('GET', new URL(address).pathname, { token: '' })
    expect(await read()).toMatchObject({ status: 200, text: expect.stringMatching(/^BEGIN:VCALENDAR/) })
    await world.inspect('calendar')
    await row(USER.email).getByRole('button', { name: 'Revoke calendar' }).click()
    await yes('Revoke')
    await said(`The calendar of ${USER.name} can't be read any more.`).waitFor()
    expect((await read()).status).toBe(404)
    await row('Sam Bay').getByRole('button', { name: 'Remove' }).click()
    await yes('Remove')
    await row('Sam Bay').waitFor({ state: 'detached' })
    expect(await list('/manage/users')).toMatchObject([{ name: 'Other' }])
  })

  test('a token is made, shown once and revoked', async () => {
    await open('/tokens')
    await button('New token').click()
    await label('Name').fill('Website form')
    await label('Expires').fill('12030-01-01T00:00')
    await yes('Create')
    expect(await dialog().getByRole('alert').count()).toBe(0)
    await label('Expires').fill('2030-01-01T00:00')
    await yes('Create')
    const secret = await main()
      .getByText(/^lw_live_/)
      .innerText()
    const answer = await world.tenant.client.request('GET', '/leads/statuses', { token: secret })
    expect(answer.status).toBe(200)
    await world.inspect('new-token')
    await button('I have stored it').click()
    expect(await main().innerText()).not.toContain(secret)
    expect(await row('Website form').innerText()).toMatch(/Valid.*leads.*in [\d,]+ days/s)
    await row('Website form').getByRole('button', { name: 'Revoke' }).click()
    await yes('Revoke')
    await row('Website form').getByText('Revoked').waitFor()
    const tokens = await list('/manage/tokens')
    expect(tokens.find(({ name }) => name === 'Website form')).toMatchObject({
      scopes: ['leads'],
      expires_at: '2030-01-01T00:00:00.000000Z',
      revoked_at: expect.any(String),
    })
  })

  test('a publishable token is made for its origins', async () => {
    world.expected = [/422/]
    await open('/tokens')
    await button('New token').click()
    await label('Name').fill('Form')
    await world.page.getByLabel(/it may stand there/).check()
    await label('Honeypot').fill('fax')
    await yes('Create')
    await world.page.getByText('The origins field is required.').waitFor()
    await label('Origins').fill('https://www.example.com  https://example.com')
    await label('Return address').fill('https://www.example.com/thanks')
    await yes('Create')
    await main()
      .getByText(/^lw_pub_/)
      .waitFor()
    await world.inspect('new-publishable-token')
    expect(await row('Form').innerText()).toMatch(/leads:create for https:\/\/www\.example\.com, https:/)
    expect(await list('/manage/tokens')).toContainEqual(
      expect.objectContaining({ honeypot: 'fax', return_url: 'https://www.example.com/thanks' }),
    )
  })

  test('the audit log says who changed what', async () => {
    const { id } = await world.tenant.listen()
    await world.tenant.send('PATCH', `/manage/webhook-endpoints/${id}`, { json: { description: 'CRM' } })
    for (let index = 0; index < 100; index++) await newUser({ email: `user-${index}@example.com` })
    await open('/audit')
    await row('user-99@example.com').waitFor()
    expect(await row('user-99@example.com').innerText()).toMatch(/^User created/)
    await link('Older').click()
    await row('Endpoint updated').waitFor()
    expect(await row('Endpoint updated').innerText()).toMatch(/description: CRM/)
    await world.inspect('audit')
    await row('Endpoint updated').getByRole('link').click()
    await heading(/^CRM/).waitFor()
  })

  test('a file is imported: rows that fail are listed, and one can be cancelled', async () => {
    await open('/imports')
    const template = await download('Download a template')
    const upload = async (text: string) => {
      await label('File of leads').setInputFiles({
        ...{ name: 'leads.csv', mimeType: 'text/csv' },
        buffer: Buffer.from(text),
      })
      await button('Import').click()
    }
    const broken = template.text.replace('SW1A 1AA', 'nowhere').split('\r\n')[1]
    await upload(`${template.text}${broken}\r\n`)
    await heading(/^Import \d+ Finished$/).waitFor()
    await row('Row 2').getByText('postcode', { exact: true }).waitFor()
    await world.inspect('import')
    expect(await list('/manage/imports')).toMatchObject([
      { state: 'finished', rows_read: 2, rows_created: 1, rows_failed: 1 },
    ])
    await link('Imports').first().click()
    await row('Finished').waitFor()
    await main().getByText('Columns of a file', { exact: true }).click()
    await row('postcode').waitFor()
    await world.inspect('imports')

    await upload(csvOf(Array.from({ length: 30_000 }, (_, index) => `Lead ${index}`)))
    await button('Cancel import').click()
    await yes('Cancel import')
    await heading(/^Import \d+ Cancelled$/).waitFor()
    expect((await list('/manage/imports'))[0]).toMatchObject({ state: 'cancelled' })
  })

  test('leads are exported, all or those that filters match', async () => {
    await world.tenant.createLead({ name: 'Door', status: 'sold' })
    await world.tenant.createLead({ name: 'Roof' })
    await open('/leads?status=sold')
    await row('Door').waitFor()
    await link('Export these').click()
    await heading('Exports').waitFor()
    await world.inspect('exports')
    const { name, text } = await download('Download CSV')
    const expected = await world.tenant.client.request('GET', '/manage/exports?format=csv&status=sold')
    expect([name, text]).toEqual(['leads.csv', expected.text])
    expect(text).toContain('Door')
    await label('Status').selectOption('All')
    await button('Clear').waitFor({ state: 'detached' })
    const lines = (await download('Download lines of JSON')).text.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(['Door', 'Roof'])
  })

  test('the account has a contact, and says whether all webhooks are accounted for', async () => {
    world.expected = [INVALID]
    await world.tenant.listen()
    await world.tenant.createLead()
    await open('/account')
    await label('E-mail of the contact').fill('no address')
    await button('Save').click()
    await main().getByText('The contact email must be a valid email address.').waitFor()
    await label('E-mail of the contact').fill('it@example.com')
    await button('Save').click()
    await said('Saved.').waitFor()
    expect(await get('/manage/account')).toMatchObject({ contact_email: 'it@example.com' })
    await main().getByText('1 of 1 lead checked').waitFor()
    await main().getByText('All is well: every checked lead').waitFor()
    await world.inspect('account')
  })
})
