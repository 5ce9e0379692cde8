// A relying party with openid-client. It writes one JSON object per line and reads the answers from stdin.
//
//   argv: the auth URL, the client's id, its redirect URI, its post-logout redirect URI, its authentication method
//   stdin: its secret, then the URL of the redirect to the application
import { createInterface } from 'node:readline'

import * as client from 'openid-client'

const [authUrl, clientId, redirectUri, farewellUri, method] = process.argv.slice(2)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const read = async () => (await lines.next()).value
const tell = (step, what = {}) => console.log(JSON.stringify({ step, ...what }))

const authenticate = {
  basic: client.ClientSecretBasic,
  post: client.ClientSecretPost,
  none: () => client.None(),
}[method]

async function main() {
  const secret = await read()
  // Insecure: http on loopback. Signatures are checked too, which a client over TLS may leave to the connection.
  const config = await client.discovery(new URL(authUrl), clientId, undefined, authenticate(secret), {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  })
  tell('discovered', { issuer: config.serverMetadata().issuer, pkce: config.serverMetadata().supportsPKCE() })

  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const expectedState = client.randomState()
  const expectedNonce = client.randomNonce()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: await read(),
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
  })
  tell('authorize', { url: url.href })

  const tokens = await client.authorizationCodeGrant(config, new URL(await read()), {
    pkceCodeVerifier,
    expectedState,
    expectedNonce,
    idTokenExpected: true,
    maxAge: 600,
  })
  tell('tokens', { tokens, claims: tokens.claims() })

  const userinfo = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub)
  tell('userinfo', { userinfo })

  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token)
  tell('refreshed', { tokens: refreshed, claims: refreshed.claims() })

  if (method !== 'none') {
    const introspection = await client.tokenIntrospection(config, refreshed.access_token)
    tell('introspected', { introspection })
  }

  // The tests call the families with these tokens before the next step.
  await read()
  await client.tokenRevocation(config, refreshed.refresh_token)
  const afterwards = await client
    .fetchUserInfo(config, refreshed.access_token, refreshed.claims().sub)
    .then(() => 'accepted', (error) => `${error.status} ${error.cause?.[0]?.parameters?.error}`)
  const again = await client
    .refreshTokenGrant(config, refreshed.refresh_token)
    .then(() => 'accepted', (error) => error.error ?? error.code)
  tell('revoked', { afterwards, again })

  const end = client.buildEndSessionUrl(config, {
    post_logout_redirect_uri: farewellUri,
    id_token_hint: refreshed.id_token,
    state: 'see-you',
  })
  tell('end session', { url: end.href })
}

main().then(
  () => process.exit(0),
  (error) => {
    tell('failed', { error: String(error), code: error.code, cause: String(error.cause ?? '') })
    process.exit(1)
  },
)
