import static org.junit.jupiter.api.Assertions.assertEquals;

import au.com.dius.pact.consumer.MockServer;
import au.com.dius.pact.consumer.dsl.PactDslRequestWithPath;
import au.com.dius.pact.consumer.dsl.PactDslWithProvider;
import au.com.dius.pact.consumer.dsl.PactDslWithState;
import au.com.dius.pact.consumer.junit5.PactConsumerTestExt;
import au.com.dius.pact.consumer.junit5.PactTestFor;
import au.com.dius.pact.core.model.V4Pact;
import au.com.dius.pact.core.model.annotations.Pact;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a sender of webhooks in Java relies on when it delivers to the gateway. */
@ExtendWith(PactConsumerTestExt.class)
@PactTestFor(providerName = "gateway")
class SenderTest {
  private static final String CONSUMER = "java-shop";
  private static final String PATH = "/api/webhooks/" + CONSUMER;
  private static final byte[] KEY = "the key of a sender that signs..".getBytes(StandardCharsets.UTF_8);

  @Pact(consumer = CONSUMER)
  V4Pact anEvent(PactDslWithProvider builder) {
    PactDslWithState known = builder.given("the event is not known", parametersOf("jv_new"));
    return delivery(known, "delivers an event", "jv_new").willRespondWith().status(200).toPact(V4Pact.class);
  }

  @Test
  @PactTestFor(pactMethod = "anEvent")
  void deliversAnEvent(MockServer gateway) throws Exception {
    assertEquals(200, deliver(gateway.getUrl(), "jv_new"));
  }

  @Pact(consumer = CONSUMER)
  V4Pact anEventAgain(PactDslWithProvider builder) {
    PactDslWithState known = builder.given("the event was delivered before", parametersOf("jv_again"));
    return delivery(known, "delivers an event again", "jv_again").willRespondWith().status(200).toPact(V4Pact.class);
  }

  @Test
  @PactTestFor(pactMethod = "anEventAgain")
  void deliversAnEventAgain(MockServer gateway) throws Exception {
    assertEquals(200, deliver(gateway.getUrl(), "jv_again"));
  }

  @Pact(consumer = CONSUMER)
  V4Pact aForgedEvent(PactDslWithProvider builder) {
    PactDslWithState forged = builder.given("the sender has another secret");
    return delivery(forged, "delivers an event with another secret", "jv_forged")
        .willRespondWith()
        .status(401)
        .toPact(V4Pact.class);
  }

  @Test
  @PactTestFor(pactMethod = "aForgedEvent")
  void deliversAForgedEvent(MockServer gateway) throws Exception {
    assertEquals(401, deliver(gateway.getUrl(), "jv_forged"));
  }

  private static Map<String, String> parametersOf(String id) {
    return Map.of("eventId", id, "type", "stock.counted");
  }

  private static PactDslRequestWithPath delivery(PactDslWithState state, String does, String id) {
    return state
        .uponReceiving(does)
        .path(PATH)
        .method("POST")
        .headers("webhook-id", id)
        .matchHeader("webhook-timestamp", "^\\d{10}$", "1764151200")
        .matchHeader("webhook-signature", "^v1,[A-Za-z0-9+/]{43}=$", "v1," + "A".repeat(43) + "=")
        .body(bodyOf(id), "application/json");
  }

  private static String bodyOf(String id) {
    return """
        {"id":"%1$s","type":"stock.counted","data":{"object":{"id":"count_of_%1$s"}}}""".formatted(id);
  }

  /** Posts an event, signed as Standard Webhooks, and returns the status of the answer. */
  private static int deliver(String url, String id) throws Exception {
    String body = bodyOf(id);
    String at = String.valueOf(Instant.now().getEpochSecond());
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    byte[] signature = mac.doFinal((id + "." + at + "." + body).getBytes(StandardCharsets.UTF_8));
    HttpRequest request = HttpRequest.newBuilder(URI.create(url + PATH))
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", at)
        .header("webhook-signature", "v1," + Base64.getEncoder().encodeToString(signature))
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
  }
}
