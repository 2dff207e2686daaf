import { eventually } from '@leadwire/test-kit'
import { describeConsole, findParts } from '../../support/console'
import { COLUMNS, createImports } from '../../support/imports'
import { LEAD, startStage } from '../../support/stage'

const USER = { name: 'Sam Bay', email: 'sam@example.com' }

// The browser logs each response with the status 422 as an error.
const INVALID = /422 \(Unprocessable/

const start = () => startStage({ env: { RECONCILE_INTERVAL: '1s' } })
describeConsole('leads and the account in the console', start, (world) => {
  const { heading, open } = world
  const { main, dialog, button, link, label, row, said, yes, download } = findParts(world)
  const get = <T = Record<string, unknown>>(path: string) => world.tenant.send<T>('GET', path)
  const list = <T = Record<string, unknown>>(path: string) => get<T[]>(path)
  const newUser = (change = {}) =>
    world.tenant.send<{ id: number }>('POST', '/manage/users', { json: { ...USER, ...change } })
  const listNavigation = () =>
    world.page.getByRole('navigation', { name: 'Console' }).getByRole('link').allInnerTexts()

  test('leads are found by filters, which keep their values even if they find nothing', async () => {
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
    expect(await row('Door').innerText()).toMatch(/Grace Lovelace.*Door.*SW1A 1AA.*Sam Bay.*Sold.*£0/s)
    await label('Status').selectOption('Open')
    await main().getByText('No lead matches.').waitFor()
    expect(await label('Name, e-mail, phone or postcode').inputValue()).toBe('grac')
    await button('Clear').click()
    await label('Owner').selectOption('Sam Bay')
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

  test('after a failed request no earlier leads are shown, and errors without a field are shown', async () => {
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

  test('a list is read page by page', async () => {
    for (let index = 1; index <= 21; index++) await world.tenant.createLead({ name: `Lead ${index}.` })
    await open('/leads?status=open')
    await row('Lead 21.').waitFor()
    expect(await row('Lead 1.').count()).toBe(0)
    await main().getByText('1–20 of 21', { exact: true }).waitFor()
    await link('Next').click()
    await row('Lead 1.').waitFor()
    await main().getByText('21–21 of 21', { exact: true }).waitFor()
    expect(await row('Lead 21.').count()).toBe(0)
    expect(await link('Next').count()).toBe(0)
    await link('Previous').click()
    await row('Lead 21.').waitFor()
  })

  test('each token sees only what it may use', async () => {
    const { reference } = await world.tenant.createLead()
    const reader = await world.tenant.newToken({ scopes: ['leads:read'] })
    await open('', reader.token)
    await heading('Home').waitFor()
    expect(await listNavigation()).toEqual(['Home', 'Leads'])
    await link('Leads').click()
    await row('Bay window').waitFor()
    await world.inspect('leads-of-a-reader')
    await link('Ada Lovelace Bay window').click()
    await heading('Bay window Open').waitFor()
    expect(await main().getByRole('button').allInnerTexts()).toEqual([])

    await world.newTab()
    const writer = await world.tenant.newToken({ scopes: ['leads'] })
    await open(`/leads/${reference}`, writer.token)
    await button('Edit value').click()
    await label('Value in pounds').fill('12')
    await button('Save').click()
    await main().getByText('£12', { exact: true }).waitFor()
    expect(await button('Erase').count()).toBe(0)

    await world.newTab()
    const manager = await world.tenant.newToken({ scopes: ['manage'] })
    await open(`/leads/${reference}`, manager.token)
    await main().getByText('The token lacks the scope leads:read.').waitFor()
    expect(await listNavigation()).not.toContain('Leads')

    await world.newTab()
    const observer = await world.tenant.newToken({ scopes: ['manage:read'] })
    await open('', observer.token)
    await heading('Home').waitFor()
    const actions = { Users: 'New user', Tokens: 'New token', Imports: 'Import', Account: 'Save' }
    for (const [page, action] of Object.entries(actions)) {
      await link(page).click()
      await heading(page).waitFor()
      expect([page, await button(action).count()]).toEqual([page, 0])
    }

    await world.newTab()
    await open('/leads/statuses')
    await heading('Not Found').waitFor()
  })

  test('a viewer opens every page and gets no button that changes anything', async () => {
    const { id } = await world.tenant.newUser('viewer', { name: 'Grace Hopper' })
    await world.tenant.listen({ description: 'CRM' })
    const { reference } = await world.tenant.createLead()
    await eventually(async () =>
      expect(await list(`/manage/deliveries?lead_reference=${reference}`)).toMatchObject([
        { status: 'delivered' },
      ]),
    )
    const READING = /^(Filter|Clear|Copy.*|Export|Download.*)$/
    await world.openAs(id)
    const names = await listNavigation()
    expect(names).toContain('Account')
    const expectReading = async (page: string) => {
      const buttons = await main().getByRole('button').allInnerTexts()
      expect([page, buttons.filter((name) => !READING.test(name))]).toEqual([page, []])
    }
    for (const name of names) {
      await link(name).click()
      await heading(name).waitFor()
      await expectReading(name)
    }
    for (const [list, record] of [
      ['Endpoints', 'CRM'],
      ['Deliveries', /^#/],
      ['Leads', 'Bay window'],
    ] as const) {
      await link(list).click()
      await heading(list).waitFor()
      await main().getByRole('link', { name: record }).first().click()
      await main().locator('.crumbs').waitFor()
      await expectReading(String(record))
    }
  })

  test('axe finds nothing in the dialogs and lists of the account', async () => {
    await newUser()
    const { reference } = await world.tenant.createLead()
    await world.tenant.send('PATCH', `/leads/${reference}`, {
      json: { user_email: USER.email, notify: true },
    })
    await eventually(async () =>
      expect(await list('/manage/notifications')).toMatchObject([{ status: 'delivered' }]),
    )
    await open('/notifications')
    await row('#').waitFor()
    await world.inspect('notifications')
    await main().getByRole('link', { name: '#' }).click()
    await row('Attempt 1').waitFor()
    await world.inspect('notification')

    await link('Users').click()
    await row(USER.email).getByRole('button', { name: 'Calendar address' }).click()
    await yes('Create')
    await main()
      .getByRole('heading', { name: `The calendar address of ${USER.name} (shown only once)` })
      .waitFor()
    await world.inspect('calendar')
    await button('New user').click()
    await world.inspect('new-user')
    await world.page.keyboard.press('Escape')

    await link('Imports').click()
    await main().getByText('Columns of a file', { exact: true }).click()
    await row('postcode').waitFor()
    await world.inspect('imports')
  })

  test('a publishable token is created for its origins', async () => {
    world.expected = [/422/]
    await open('/tokens')
    await button('New token').click()
    await label('Name').fill('Form')
    await world.page.getByLabel(/can only create leads/).check()
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

  test('the audit log shows each change', async () => {
    const { id } = await world.tenant.listen()
    await world.tenant.send('PATCH', `/manage/webhook-endpoints/${id}`, { json: { description: 'CRM' } })
    for (let index = 0; index < 100; index++) await newUser({ email: `user-${index}@example.com` })
    await open('/audit')
    const created = row('User created')
    await created.first().waitFor()
    // The log hides the personal data of users.
    expect(await created.first().innerText()).toMatch(/Sam Bay\s*email: not shown\s*name: not shown/)
    await link('Older').click()
    await row('Endpoint updated').waitFor()
    expect(await row('Endpoint updated').innerText()).toMatch(/description: CRM/)
    await world.inspect('audit')
    await row('Endpoint updated').getByRole('link').click()
    await heading(/^CRM/).waitFor()
  })

  test('a running import can be cancelled, and the page then stops polling', async () => {
    await world.page.clock.install()
    await open('/imports')
    await label('File of leads').setInputFiles({
      name: 'leads.csv',
      mimeType: 'text/csv',
      // These rows take long enough that the import still runs when it is cancelled.
      buffer: Buffer.from(`${COLUMNS.join()}\n${'invalid\n'.repeat(300_000)}`),
    })
    await button('Import').click()
    await button('Cancel import').click()
    await yes('Cancel import')
    await heading(/^Import \d+ Cancelled$/).waitFor()
    expect(await list('/manage/imports')).toMatchObject([{ state: 'cancelled' }])
    const requested: string[] = []
    world.page.on('request', (request) => requested.push(request.url()))
    await world.page.clock.runFor(60_000)
    expect(requested).toEqual([])
  })

  test('all or filtered leads are exported', async () => {
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
    const lines = (await download('Download NDJSON')).text.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(['Door', 'Roof'])

    await world.page.goto(`${world.stage.system.baseUrl}/console/leads?due=today&user_id=none&status=sold`)
    await link('Export without the filters Owner and Due').click()
    await heading('Exports').waitFor()
    expect(await label('Status').inputValue()).toBe('sold')
  })

  test('the account shows its contact, and whether all webhooks are accounted for', async () => {
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
    await label('Appointments are due this many minutes before their time').fill('an hour')
    await button('Save').click()
    await main().getByText('The appointment due minutes must be an integer.').waitFor()
    await label('Appointments are due this many minutes before their time').fill('90')
    await label('Callbacks are due this many minutes before their time').fill('5')
    await button('Save').click()
    await said('Saved.').waitFor()
    expect(await get('/manage/account')).toMatchObject({
      contact_email: 'it@example.com',
      appointment_due_minutes: 90,
      callback_due_minutes: 5,
    })
    await main().getByText('1 of 1 lead checked').waitFor()
    await main().getByText('All is well: the webhooks of every checked lead').waitFor()
    await world.inspect('account')
  })

  test('a rule that erases old leads is counted before it is switched on', async () => {
    world.expected = [INVALID]
    const old = { ...LEAD, created_at: '2020-01-01T00:00:00Z', status: 'lost' }
    await createImports(world.tenant).run(`${JSON.stringify(old)}\n`, { type: 'application/x-ndjson' })
    const readRule = () => get('/manage/lead-retention')
    await open('/account')
    await button('Make a rule').click()
    await yes('Count the leads')
    await dialog().getByText('The statuses must have at least 1 item.').waitFor()
    await dialog().getByLabel('Lost').check()
    await dialog().getByLabel('Spam').check()
    await world.inspect('lead-retention-form')
    await yes('Count the leads')
    await main().getByText('No lead matches now.').waitFor()
    await world.inspect('lead-retention-counted')
    expect(await readRule()).toBeNull()
    await button('Switch on').click()
    await said('The rule is on.').waitFor()
    await main().getByText('Leads with the status Lost or Spam that have not changed for 24 months').waitFor()
    expect(await readRule()).toEqual({ statuses: ['lost', 'spam'], months: 24 })
    await button('Switch off').click()
    await yes('Switch off')
    await said('The rule is off.').waitFor()
    expect(await readRule()).toBeNull()
  })
})
