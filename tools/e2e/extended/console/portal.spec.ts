import { eventually } from '@leadwire/test-kit'
import { describeConsole, fillToken, tokenForm } from '../../support/console'
import { joinStage } from '../../support/stage'

describeConsole('a portal link in the console', joinStage, (world) => {
  const { heading } = world
  const button = (name: string) => world.page.getByRole('button', { name, exact: true })
  const link = (name: string) => world.page.getByRole('link', { name, exact: true })
  const share = async (id: number) =>
    (await world.tenant.send<{ url: string }>('POST', `/manage/webhook-endpoints/${id}/portal`)).url

  test('it opens once, and shows only its endpoint and deliveries', async () => {
    world.expected = [/403/, /401/, /404/]
    const { id } = await world.tenant.listen({ description: 'Partner' })
    const other = await world.tenant.listen({ description: 'Other' })
    const lead = await world.tenant.createLead()
    await eventually(() => expect(other.receiver.requests).toHaveLength(1))

    await world.open(`/endpoints/${id}`)
    await button('Share').click()
    const url = await world.page.getByText(/#portal=/).innerText()
    await world.inspect('portal-link')

    await world.newTab()
    await world.page.goto(url)
    await heading(/^Partner/).waitFor()
    expect(world.page.url()).toBe(`${world.stage.system.baseUrl}/console/endpoints/${id}`)
    const { baseUrl } = world.stage.system
    const addresses = await world.page
      .getByRole('link')
      .evaluateAll((links) => links.map((one) => (one as unknown as { href: string }).href))
    const own = [`/endpoints/${id}/edit`, `/endpoints/${id}/replay`]
    const known = ['', '/', '#main', '/endpoints', '/deliveries', ...own]
    expect(
      addresses
        .map((address) => address.replace(`${baseUrl}/console`, '').replace(/[?].*/, ''))
        .filter(
          (path) =>
            !known.includes(path.replace(/^\/endpoints\/\d+#main$/, '#main')) &&
            !/^\/deliveries\/\d+$/.test(path),
        ),
    ).toEqual([])
    expect(await button('Delete').count()).toBe(0)
    expect(await button('Share').count()).toBe(0)
    await world.inspect('portal')

    await link('Edit').click()
    await world.page.getByLabel('Name').fill('Partner of ours')
    expect(await world.page.getByLabel('Lead created').count()).toBe(0)
    await button('Save').click()
    await heading(/^Partner of ours/).waitFor()

    await link('Deliveries').click()
    await heading('Deliveries').waitFor()
    expect(await world.page.getByRole('rowheader').count()).toBe(1)
    await world.page.goto(`${baseUrl}/console/endpoints/${other.id}`)
    await world.page.getByText('There is no such webhook endpoint.').waitFor()
    await world.page.goto(`${baseUrl}/console/leads/${lead.reference}`)
    await world.page.getByText('The token lacks the scope leads:read.').waitFor()

    await world.newTab()
    await world.page.goto(url)
    await heading('Sign in').waitFor()
    await world.page.getByText(/The link can't be opened/).waitFor()
    expect(world.page.url()).toBe(`${baseUrl}/console`)
    await world.page.goto(await share(id))
    await heading(/^Partner of ours/).waitFor()
  })

  test('the end of its session affects no other tab, and another token can sign in afterwards', async () => {
    world.expected = [/401/, /404/]
    const { id } = await world.tenant.listen({ description: 'Partner' })
    await world.open('/endpoints')
    await heading('Endpoints').waitFor()
    const own = world.page
    const partner = await own.context().newPage()
    await partner.goto(await share(id))
    await partner.getByRole('heading', { level: 1, name: /^Partner/ }).waitFor()
    const tokens = await world.tenant.send<{ id: number; endpoint_id: number }[]>('GET', '/manage/tokens')
    const session = tokens.find((token) => token.endpoint_id === id)!
    await world.tenant.send('DELETE', `/manage/tokens/${session.id}`)
    await partner.getByText('The token is unknown').waitFor()
    await own.reload()
    await heading('Endpoints').waitFor()

    await partner.goto(await share(id))
    await partner.getByRole('heading', { level: 1, name: /^Partner/ }).waitFor()
    await partner.goto(`${world.stage.system.baseUrl}/console/endpoints#portal=lw_live_opened`)
    await partner.getByText(/The link can't be opened/).waitFor()
    await fillToken(partner, world.tenant.token)
    await tokenForm(partner).getByRole('button', { name: 'Sign in' }).click()
    await partner.getByRole('link', { name: 'Tokens' }).waitFor()
    await partner.reload()
    await partner.getByRole('link', { name: 'Tokens' }).waitFor()
  })
})
