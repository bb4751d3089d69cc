import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request that the broker got. */
interface BrokerRequest {
  readonly method: string
  /** The path and the query, decoded. */
  readonly path: string
  readonly authorization: string | undefined
  readonly body: unknown
}

/** A fake of a Pact Broker, which is software of others. */
export interface FakeBroker extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly BrokerRequest[]
  /** The pacts that were published: `<consumer> <provider> <version> <branch>` -> the content. */
  readonly pacts: ReadonlyMap<string, unknown>
  /** Answers requests whose method and path match with this status. Null: never answers. */
  fail(match: RegExp, status: number | null): void
  /** Links each pact to another place for its results. */
  linkResultsTo(url: string): void
  /** Answers no to can-i-deploy. */
  refuseDeployments(): void
}

interface Publication {
  readonly pacticipantName: string
  readonly pacticipantVersionNumber: string
  readonly branch: string
  readonly contracts: readonly { consumerName: string; providerName: string; content: string }[]
}

/** Starts a server with the part of the broker's published HTTP API that is used here (docs.pact.io/pact_broker). */
export async function startFakeBroker(): Promise<FakeBroker> {
  const requests: BrokerRequest[] = []
  const failures: { readonly match: RegExp; readonly status: number | null }[] = []
  const place: Place = { url: '', pacts: new Map(), results: null, deployable: true }
  const server = createServer(async (request, response) => {
    const asked = await read(request)
    requests.push(asked)
    const failure = failures.find(({ match }) => match.test(`${asked.method} ${asked.path}`))
    if (failure === undefined) return send(response, asked.method === 'POST' ? 201 : 200, answer(asked, place))
    if (failure.status !== null) send(response, failure.status, { error: { message: 'refused by the fake' } })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  place.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    ...{ url: place.url, requests, pacts: place.pacts },
    fail: (match, status) => void failures.unshift({ match, status }),
    linkResultsTo(url) {
      place.results = url
    },
    refuseDeployments() {
      place.deployable = false
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** What the broker is and has. */
interface Place {
  url: string
  readonly pacts: Map<string, unknown>
  results: string | null
  deployable: boolean
}

async function read(request: IncomingMessage): Promise<BrokerRequest> {
  const { method = '', url = '', headers } = request
  const body = await text(request)
  const path = decodeURIComponent(url)
  return { method, path, authorization: headers.authorization, body: body === '' ? null : JSON.parse(body) }
}

function answer({ path, body }: BrokerRequest, place: Place): object {
  const self = `${place.url}${encodeURI(path)}`
  if (path === '/') return indexOf(place.url)
  if (path === '/contracts/publish') return publish(body as Publication, place.pacts)
  if (path.startsWith('/matrix')) return matrix(place.deployable)
  if (/(?:\/results|^\/webhooks)$/.test(path) || path.startsWith('/pacticipants/')) return deploymentsOf(self)
  return { _links: { 'pb:publish-verification-results': { href: place.results ?? `${self}/results` } } }
}

function indexOf(url: string): object {
  const links = { 'pb:publish-contracts': '/contracts/publish', 'pb:webhooks': '/webhooks' }
  return { _links: Object.fromEntries(Object.entries(links).map(([rel, path]) => [rel, { href: `${url}${path}` }])) }
}

function publish(publication: Publication, pacts: Map<string, unknown>): object {
  const { pacticipantName: name, pacticipantVersionNumber, branch, contracts } = publication
  for (const { consumerName, providerName, content } of contracts) {
    const key = [consumerName, providerName, pacticipantVersionNumber, branch].join(' ')
    pacts.set(key, JSON.parse(Buffer.from(content, 'base64').toString('utf8')))
  }
  const link = { href: '', title: '', name }
  const _links = { self: link }
  const version = { number: pacticipantVersionNumber, _links }
  const lists = { 'pb:pacticipant-version-tags': [], 'pb:contracts': [link] }
  const links = { 'pb:pacticipant': link, 'pb:pacticipant-version': link, ...lists }
  return { _embedded: { pacticipant: { name, _links }, version }, _links: links, notices: [], logs: [] }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/hal+json' }).end(JSON.stringify(body))
}

/** A version of a participant, which links to its deployments in each environment. */
function deploymentsOf(url: string): object {
  const environments = ['test', 'production'].map((name) => ({ name, href: `${url}/deployed-versions/${name}` }))
  return { _links: { self: { href: url }, 'pb:record-deployment': environments } }
}

function matrix(deployable: boolean): object {
  const reason = deployable ? 'All required verification results are published' : 'A verification failed'
  const counts = { success: deployable ? 1 : 0, failed: deployable ? 0 : 1, unknown: 0 }
  return { summary: { deployable, reason, ...counts }, matrix: [], notices: [] }
}
