import { ORIGIN } from '../../support/capture'
import { describeConsole, findParts } from '../../support/console'
import { joinStage, LEAD } from '../../support/stage'

// The browser logs each response with the status 422 as an error.
const INVALID = /422 \(Unprocessable/

describeConsole('website forms in the console', joinStage, (world) => {
  const { heading, open } = world
  const { main, dialog, button, link, label, row, yes } = findParts(world)

  test('a form is created with its HTML, and its first lead appears', async () => {
    world.expected = [INVALID]
    await open('/forms')
    await main().getByText('There are no website forms yet.').waitFor()
    await button('New form').click()
    await label('Name').fill('Kitchen "page"')
    await label('Address of the website').fill('not an address')
    await yes('Create')
    await dialog().getByRole('alert').first().waitFor()
    await world.inspect('new-form')
    // The address of a page is enough.
    await label('Address of the website').fill(`${ORIGIN.replace('https://', '')}/contact`)
    await yes('Create')
    const html = await main().locator('pre').innerText()
    await main().getByText('No lead yet.').waitFor()
    await world.inspect('created-form')
    expect(await row('Kitchen').innerText()).toMatch(new RegExp(`${ORIGIN}\\s+never`))

    const [, token] = /\/capture\/(lw_pub_[\w-]+)"/.exec(html)!
    expect(html).toContain('<input type="hidden" name="form" value="Kitchen &quot;page&quot;">')
    const names = [...html.matchAll(/ name="(\w+)"/g)].map(([, name]) => name!)
    const { first_name, last_name, email, phone, postcode } = LEAD
    const form = {
      form: 'Kitchen "page"',
      first_name,
      last_name,
      email,
      phone,
      postcode,
      description: '',
      fax: '',
    }
    expect(names).toEqual(Object.keys(form))
    const sent = { token: '', form, headers: { origin: ORIGIN } }
    expect((await world.tenant.client.request('POST', `/capture/${token}`, sent)).status).toBe(200)
    await main().getByText('The first lead has arrived:').waitFor()
    await button('I have stored it').click()
    expect(await main().innerText()).not.toContain(token)
    await link('Show leads').click()
    await heading('Leads').waitFor()
    await row('Ada Lovelace').waitFor()
  })
})
