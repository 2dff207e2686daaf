import { eventually } from '@leadwire/test-kit'
import type { Locator } from 'playwright-core'
import { awaitRoomInHour, describeConsole, findParts, IMPATIENT } from '../support/console'
import { joinStage } from '../support/stage'

const USER = { name: 'Sam Bay', email: 'sam@example.com' }

const MOST_CLICKS = 12

// The browser logs an error for each response with one of these statuses.
const INVALID = /422 \(Unprocessable/
const UNAUTHORIZED = /401 \(Unauthorized\)/

const start = () => joinStage({ env: IMPATIENT })
describeConsole('the console', start, (world) => {
  const { heading, open, signIn } = world
  const { main, dialog, button, link, label, row, said, yes, download } = findParts(world)
  const get = <T = Record<string, unknown>>(path: string) => world.tenant.send<T>('GET', path)
  const list = <T = Record<string, unknown>>(path: string) => get<T[]>(path)
  const newUser = (change = {}) =>
    world.tenant.send<{ id: number }>('POST', '/manage/users', { json: { ...USER, ...change } })

  test('an invalid token is refused, and after a revocation the page stays until the next sign-in', async () => {
    world.expected = [UNAUTHORIZED]
    await open('/endpoints?from=a-colleague', 'lw_live_wrong')
    await world.page.getByText('The token is unknown, revoked or expired.').waitFor()
    await world.inspect('sign-in')
    const { id, token } = await world.tenant.newToken({ scopes: ['manage', 'leads'] })
    await signIn(token)
    await heading('Endpoints').waitFor()
    await world.tenant.send('DELETE', `/manage/tokens/${id}`)
    await dialog().getByRole('heading', { name: 'Sign in again' }).waitFor()
    await dialog().getByText('The token is unknown, revoked or expired.').waitFor()
    await world.inspect('sign-in-again')
    await signIn()
    await dialog().waitFor({ state: 'hidden' })
    await heading('Endpoints').waitFor()
    await world.page.getByText('Live', { exact: true }).waitFor()
    expect(world.page.url()).toMatch(/\/console\/endpoints\?from=a-colleague$/)
  })

  test('a lead is found and updated, its user is notified, and its history shows the change', async () => {
    const { id } = await newUser()
    await world.tenant.createLead({ name: 'Roof', email: 'grace@example.com', first_name: 'Grace' })
    const { reference } = await world.tenant.createLead()
    await open('/leads')
    await row('Roof').waitFor()
    await world.inspect('leads')
    await label('Name, e-mail, phone or postcode').fill('lovelace ada')
    await button('Filter').click()
    await row('Roof').waitFor({ state: 'detached' })
    await link('Ada Lovelace Bay window').click()

    await heading('Bay window Open').waitFor()
    await button('Edit status').click()
    await label('Status').selectOption('Sold')
    await button('Save').click()
    await heading('Bay window Sold').waitFor()
    await button('Edit value').click()
    await label('Value in pounds').fill('4500')
    await button('Save').click()
    await main().getByText('£4,500', { exact: true }).waitFor()
    await button('Edit owner').click()
    await label('Owner').selectOption('Sam Bay')
    await label('Notify the owner by e-mail').check()
    await button('Save').click()
    const changes = main().getByRole('listitem').filter({ hasText: 'Lead changed' })
    for (const change of ['Status: Open → Sold', 'Value: £0 → £4,500', 'Owner: none → Sam Bay'])
      await changes.getByText(change).waitFor()
    expect(await get(`/leads/${reference}`)).toMatchObject({ status: 'sold', value: 4500 })
    await world.inspect('lead')
    const found = await eventually(async () => {
      const all = await list(`/manage/notifications?lead_reference=${reference}`)
      expect(all).toMatchObject([{ subject: 'assigned', status: 'delivered', user_id: id }])
      return all[0]!
    })

    await world.page.getByRole('tab', { name: 'Technical details' }).click()
    await link('Notifications').last().click()
    await link(`#${found['id']}`).click()
    await heading(`Notification ${found['id']} Delivered`).waitFor()
    await row('Attempt 1').waitFor()
    await button('Retry now').click()
    await yes('Send again')
    await said(/^Attempt 2: 250 Success/).waitFor()
    expect(await get(`/manage/notifications/${found['id']}`)).toMatchObject({ attempt_count: 2 })
  })

  test('an endpoint is created, with errors at the fields and its secret shown once, and then edited', async () => {
    world.expected = [INVALID]
    const { receiver } = await world.tenant.listen()
    await open('/endpoints/new')
    await label('URL').fill('ftp://crm.example.com')
    await label('Lead created').uncheck()
    await button('Create').click()
    await main().locator('#url-error').waitFor()
    expect(await main().locator('#events-error').isVisible()).toBe(true)
    expect(await label('URL').getAttribute('aria-describedby')).toBe('url-help url-error')
    await world.inspect('new-endpoint')

    await label('URL').fill(`${receiver.url}?new`)
    await label('Name').fill('CRM')
    await label('Lead updated').check()
    await label('Leads').selectOption('Live leads only')
    await main().getByText('Filter', { exact: true }).click()
    await label('Open').check()
    await label('Website').check()
    await label('Postcodes').fill('1AA')
    await button('Create').click()
    await main().getByText('must be the start of a UK postcode').waitFor()
    await label('Postcodes').fill('sw1a, m1')
    await label('Additional headers').fill('X-Team: sales\nAuthorization: Bearer a:b')
    await button('Create').click()
    await heading('CRM No traffic').waitFor()
    const secret = await main()
      .getByText(/^whsec_/)
      .innerText()
    await world.inspect('secret')
    await world.page.reload()
    await heading('CRM No traffic').waitFor()
    expect(await main().getByText(secret).count()).toBe(0)

    await main().getByText('Only leads with: Status Open. Referrer Website. Postcode SW1A or M1.').waitFor()
    await main().getByText('Webhooks come from 192.0.2.10, 2001:db8::/64.').waitFor()
    await link('Edit').click()
    await label('Website').uncheck()
    await label('Additional headers').fill('authorization\nX-Team: support')
    await label('Lead created').check()
    await button('Save').click()
    await said('Saved.').waitFor()
    await main().getByText('Live leads only. Events: Lead created, Lead updated.').waitFor()
    await main().getByText('Only leads with: Status Open. Postcode SW1A or M1.').waitFor()
    await world.tenant.createLead({ status: 'sold' })
    const { reference } = await world.tenant.createLead()
    await eventually(() => {
      const sent = receiver.requests.filter(({ url }) => url.endsWith('?new'))
      const headers = { authorization: 'Bearer a:b', 'x-team': 'support' }
      expect(sent).toMatchObject([{ headers }])
      expect(JSON.parse(sent[0]!.body.toString())).toMatchObject({ data: { reference } })
    })
  })

  test(`support finds, diagnoses and repairs a failing endpoint and sends its failed deliveries, in at most ${MOST_CLICKS} clicks`, async () => {
    const { tenant, page } = world
    await tenant.listen({ description: 'Mailer' })
    const { receiver, id } = await tenant.listen({ description: 'CRM' })
    // Nothing listens at this port.
    const url = receiver.url.replace(/:\d+/, ':1')
    await tenant.send('PATCH', `/manage/webhook-endpoints/${id}`, { json: { url } })
    await awaitRoomInHour()
    for (let count = 0; count < 3; count += 1) await tenant.createLead()
    await eventually(async () => {
      const path = `/manage/deliveries?endpoint_id=${id}&status=exhausted`
      expect((await tenant.client.request<{ total: number }>('GET', path)).json.total).toBe(3)
    })

    let clicks = 0
    const click = async (target: Locator) => {
      clicks += 1
      await target.click()
    }
    await page.goto(`${world.stage.system.baseUrl}/console`)
    await click(page.getByText('Use a token instead'))
    await label('Token').fill(tenant.token)
    await click(button('Sign in'))

    // Finds the failing endpoint: the home page counts it, and the list shows the worst endpoint first.
    await click(link('1 of 2'))
    const worst = page.getByRole('row').nth(1)
    await worst.getByText('Failing').waitFor()
    expect(await worst.innerText()).toMatch(/CRM[\s\S]*0 % of 18 attempts succeeded/)
    await world.inspect('endpoints')
    await click(worst.getByRole('link', { name: 'CRM' }))

    // Diagnoses the failure.
    await heading('CRM Failing').waitFor()
    const newest = page.getByRole('row').nth(1)
    await click(newest.getByRole('link', { name: /^#\d+$/ }))
    await page.getByRole('listitem').filter({ hasText: 'Attempt 6 failed' }).waitFor()
    expect(await page.getByText('Connection refused: nothing listens at this address').count()).toBe(6)
    await world.inspect('failed-delivery')
    await click(link('CRM'))

    // Repairs the endpoint and tests it.
    await click(link('Edit'))
    await label('URL').fill(receiver.url)
    await click(button('Save'))
    await click(button('Send a test'))
    await said(/^Test of Lead created:.*200 Success/).waitFor()

    // Sends the failed deliveries.
    await click(button('Retry failed deliveries'))
    await page.getByText('3 deliveries failed (exhausted).').waitFor()
    await click(dialog().getByRole('button', { name: 'Retry', exact: true }))
    await page.getByText('Retried: 3. Failed (exhausted) now: 0.').waitFor()
    await heading('CRM Recovering').waitFor()
    expect(receiver.requests).toHaveLength(1 + 3)
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS)
    await world.inspect('endpoint')
  })

  test('a failed delivery shows its attempts, newest first, and a retry shows its result on the same page', async () => {
    const markup = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    const { receiver } = await world.tenant.listen({ description: markup })
    const html = { 'content-type': 'text/html' }
    receiver.answerWith({ status: 503, body: `${markup} come back later`, headers: html })
    await world.tenant.createLead()
    const id = await eventually(async () => {
      const exhausted = await list<{ id: number }>('/manage/deliveries?status=exhausted')
      expect(exhausted).toHaveLength(1)
      return exhausted[0]!.id
    })
    await open('/deliveries')
    await link(`#${id}`).click()
    await heading(`Delivery ${id} Failed (exhausted)`).waitFor()
    const items = await world.page.getByRole('listitem').allInnerTexts()
    expect(items).toHaveLength(7)
    expect(items[0]).toContain('No attempts are left.')
    expect(items[1]).toMatch(
      /^Attempt 6 failed[\s\S]*503: the receiver failed[\s\S]*\d m?s after the previous attempt/,
    )
    const responses = () => main().locator('.timeline pre').filter({ visible: true }).allInnerTexts()
    // The newest response is expanded.
    expect(await responses()).toEqual([`${markup} come back later`])
    expect(await main().locator('img, script').count()).toBe(0)

    receiver.answerWith({ status: 200, body: 'thank you' })
    await button('Retry now').click()
    await said(/^Attempt 7: 200 Success, after [\d.]+ m?s\.$/).waitFor()
    await heading(`Delivery ${id} Delivered`).waitFor()
    expect(await responses()).toContain('thank you')
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
    await label('E-mail').fill(USER.email)
    await yes('Create')
    await row(USER.email).waitFor()
    await row(USER.email).getByRole('button', { name: 'Edit' }).click()
    await label('Name').fill('Sam Bay')
    await yes('Save')
    await row('Sam Bay').waitFor()
    expect(await list('/manage/users')).toMatchObject([{ name: 'Other' }, USER])
    await world.inspect('users')
    await row(USER.email).getByRole('button', { name: 'Calendar address' }).click()
    await yes('Create')
    const address = await main().getByText('/calendars/lw_cal_').innerText()
    const read = () => world.tenant.client.request('GET', new URL(address).pathname, { token: '' })
    expect(await read()).toMatchObject({ status: 200, text: expect.stringMatching(/^BEGIN:VCALENDAR/) })
    await row(USER.email).getByRole('button', { name: 'Revoke calendar' }).click()
    await yes('Revoke')
    await said(`The calendar address of ${USER.name} no longer works.`).waitFor()
    expect((await read()).status).toBe(404)
    const sam = (await list<{ id: number; name: string }>('/manage/users')).find(
      ({ name }) => name === USER.name,
    )!
    await row('Sam Bay').getByRole('button', { name: 'Remove' }).click()
    await dialog().getByLabel('Also erase name and e-mail address in the history').check()
    await yes('Remove')
    await row('Sam Bay').waitFor({ state: 'detached' })
    expect(await list('/manage/users')).toMatchObject([{ name: 'Other' }])
    expect(await get(`/manage/users/${sam.id}`)).toMatchObject({ name: 'A removed user' })
  })

  test('a token is created, shown once and revoked', async () => {
    await open('/tokens')
    await button('New token').click()
    await label('Name').fill('Website form')
    // The form does not accept a year of five digits: the dialog stays open.
    await label('Expires').fill('12030-01-01T00:00')
    await yes('Create')
    expect(await dialog().getByRole('alert').count()).toBe(0)
    expect(await dialog().innerText()).toContain('A test token is not a sandbox')
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
    expect(await row('Website form').innerText()).toMatch(/Valid.*leads.*in [\d,]+ days.* by first/s)
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

  test('a file is imported, its ignored columns and failed rows are listed, downloaded and corrected', async () => {
    await open('/imports')
    const template = await download('Download a template')
    const [header, valid] = template.text.split('\r\n')
    const invalid = valid!.replace('SW1A 1AA', 'nowhere')
    await label('File of leads').setInputFiles({
      name: 'leads.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`${header},Mobile Number\r\n${valid},1\r\n${invalid},1\r\n`),
    })
    await button('Import').click()
    await heading(/^Import \d+ Finished$/).waitFor()
    await main().getByText('leads.csv', { exact: true }).waitFor()
    const second = main().getByRole('listitem', { name: 'Row 2' })
    expect(await second.getByLabel('postcode', { exact: true }).inputValue()).toBe('nowhere')
    await row('Mobile Number').getByText('mobile', { exact: true }).waitFor()
    await world.inspect('import')
    const failed = await download('Download failed rows')
    expect(failed.name).toMatch(/^failed-rows-\d+\.csv$/)
    expect(failed.text.split('\r\n').slice(1)).toEqual([
      expect.stringMatching(/^2,The postcode.*,nowhere,.*,1$/),
      '',
    ])
    await second.getByLabel('postcode', { exact: true }).fill('SW1A 1AA')
    await button('Import 1 corrected row').click()
    await row('Mobile Number').waitFor()
    await main().getByText('Corrected rows of leads.csv').waitFor()
    await heading(/^Import \d+ Finished$/).waitFor()
    const imports = await list('/manage/imports')
    expect(imports).toMatchObject([
      { file_name: 'Corrected rows of leads.csv', state: 'finished', rows_created: 1, rows_failed: 0 },
      { file_name: 'leads.csv', state: 'finished', rows_read: 2, rows_created: 1, rows_failed: 1 },
    ])
    await link('Imports').first().click()
    await row('Corrected rows of leads.csv').waitFor()
    await link(`#${imports[1]!['id']}`).click()
    await second.getByRole('link', { name: `import ${imports[0]!['id']}` }).waitFor()
  })
})
