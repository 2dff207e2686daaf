import { formatPence, type Lead } from '../leads'

type Quote = Lead['quotes'][number]
type Item = Quote['items'][number]

const describeProduct = ({ product_style: { sku, name, product } }: Item): string =>
  [product.name, name, sku].filter(Boolean).join(', ')

const describeOptions = ({ options }: Item): string =>
  Object.entries(options)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`)
    .join(', ')

const QuoteItem = ({ item }: { item: Item }) => (
  <li>
    <p class="priced">
      <span class="wrap">{item.name || `#${item.id}`}</span> <span>{formatPence(item.price)}</span>
    </p>
    <p class="faint wrap">{[describeProduct(item), describeOptions(item)].filter(Boolean).join('; ')}</p>
  </li>
)

/** The quotes of a lead with their items. */
export const LeadQuotes = ({ quotes }: Pick<Lead, 'quotes'>) => (
  <>
    {quotes.map(({ id, status, items }) => (
      <section key={id} class="card padded" aria-labelledby={`quote-${id}`}>
        <h2 id={`quote-${id}`}>{`Quote ${id}${status && `, ${status}`}`}</h2>
        {items.length === 0 ? (
          <p class="none">No items</p>
        ) : (
          <>
            <ul class="entries">
              {items.map((item) => (
                <QuoteItem key={item.id} item={item} />
              ))}
            </ul>
            <p class="priced">
              <strong>Total of the items</strong>{' '}
              <strong>{formatPence(items.reduce((sum, { price }) => sum + price, 0))}</strong>
            </p>
          </>
        )}
      </section>
    ))}
  </>
)
